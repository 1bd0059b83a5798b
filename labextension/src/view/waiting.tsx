/** Waiting for the kernel: what for, and after a while why it may take long. */
import { Notice } from './notice';

export function Waiting({ what }: { what: string }) {
  return (
    <Notice what={what}>
      <Late />
    </Notice>
  );
}

/** To be seen only after some seconds, which the styles count. */
export function Late() {
  return (
    <span class="bd-late">
      The kernel has not answered yet: a Spark job of this question runs, or the kernel is busy. If it has gone, run the
      cell of this view again.
    </span>
  );
}
