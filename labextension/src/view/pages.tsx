/** Pages of something of which it is known how many there are. */
import type { ComponentChildren } from 'preact';
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
      <Turning start={start} size={size} more={last < total} turn={turn}>
        <span>{`${what} ${number(start + 1)} to ${number(last)} of ${number(total)}`}</span>
      </Turning>
    </div>
  );
}

export interface TurningProps {
  readonly start: number;
  readonly size: number;
  /** Whether something follows this page. */
  readonly more: boolean;
  readonly turn: (start: number) => void;
  readonly words?: readonly [string, string];
  /** What stands between the buttons. */
  readonly children?: ComponentChildren;
}

/** The buttons that turn a page. */
export function Turning({ start, size, more, turn, words = ['Earlier', 'Later'], children }: TurningProps) {
  return (
    <>
      <button
        type="button"
        disabled={start === 0}
        onClick={() => {
          turn(Math.max(0, start - size));
        }}
      >
        {words[0]}
      </button>
      {children}
      <button
        type="button"
        disabled={!more}
        onClick={() => {
          turn(start + size);
        }}
      >
        {words[1]}
      </button>
    </>
  );
}
