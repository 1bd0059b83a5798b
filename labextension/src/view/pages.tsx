/** Pages of something of which it is known how many there are. */
import { number } from './words';

export interface PagesProps {
  readonly start: number;
  readonly size: number;
  readonly total: number;
  /** What is counted, in the plural. */
  readonly what: string;
  readonly turn: (start: number) => void;
}

export function Pages({ start, size, total, what, turn }: PagesProps) {
  if (total <= size) {
    return null;
  }
  const last = Math.min(start + size, total);
  return (
    <div class="bd-pages" role="group" aria-label="Pages">
      <button
        type="button"
        disabled={start === 0}
        onClick={() => {
          turn(Math.max(0, start - size));
        }}
      >
        Earlier
      </button>
      <span>{`${what} ${number(start + 1)} to ${number(last)} of ${number(total)}`}</span>
      <button
        type="button"
        disabled={last >= total}
        onClick={() => {
          turn(start + size);
        }}
      >
        Later
      </button>
    </div>
  );
}
