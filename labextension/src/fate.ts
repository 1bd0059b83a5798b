/** What becomes of a kernel: it starts again, has nothing to do, or goes; whoever did that, also in another window. */
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';

export interface Fated {
  /** The kernel starts again: all that was in it is gone. */
  restarts(): void;
  /** It has nothing to do. */
  rests(): void;
  /** It has died, or was shut down. */
  goes(): void;
}

export class Fate implements IDisposable {
  constructor(
    private readonly kernel: Kernel.IKernelConnection,
    private readonly fated: Fated
  ) {
    kernel.statusChanged.connect(this.onStatus, this);
    kernel.iopubMessage.connect(this.onMessage, this);
    kernel.disposed.connect(this.onGone, this);
  }

  get isDisposed(): boolean {
    return this.done;
  }

  dispose(): void {
    this.done = true;
    this.kernel.statusChanged.disconnect(this.onStatus, this);
    this.kernel.iopubMessage.disconnect(this.onMessage, this);
    this.kernel.disposed.disconnect(this.onGone, this);
  }

  private onStatus(_: unknown, status: KernelMessage.Status): void {
    if (status === 'restarting' || status === 'autorestarting') {
      this.fated.restarts();
    } else if (status === 'dead') {
      this.fated.goes();
    } else if (status === 'idle') {
      this.fated.rests();
    }
  }

  /** A kernel that another window starts again says so itself, and has no such status here. */
  private onMessage(_: unknown, message: KernelMessage.IIOPubMessage): void {
    const { msg_type } = message.header as { msg_type: string };
    if (msg_type === 'shutdown_reply' && (message.content as { restart?: boolean }).restart === true) {
      this.fated.restarts();
    }
  }

  private onGone(): void {
    this.fated.goes();
  }

  private done = false;
}
