/** A notice: what is the case, and what to do. */
import type { ComponentChildren } from 'preact';

export interface NoticeProps {
  readonly what: string;
  /** Whether something is wrong: readers of screens are told at once. */
  readonly wrong?: boolean;
  readonly children?: ComponentChildren;
}

export function Notice({ what, wrong = false, children }: NoticeProps) {
  return (
    <div class={wrong ? 'bd-notice bd-wrong' : 'bd-notice'} role={wrong ? 'alert' : 'status'}>
      <p class="bd-what">{what}</p>
      {children}
    </div>
  );
}
