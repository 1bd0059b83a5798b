/**
 * One comm with a kernel, over a subshell: its messages are handled while a cell runs.
 *
 * Not made with `kernel.createComm`: only one of several connections to a kernel may do that (two notebooks on one kernel, a
 * notebook and a console), and it is not always the one of the notebook that is open. What the kernel says on a comm comes to all
 * of them.
 */
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import { UUID } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';

export interface Ears {
  /** The kernel says something. */
  hear(data: unknown, buffers: readonly DataView[]): void;
  /** The kernel closes the comm, or knows nothing of its target. */
  closed(): void;
}

type Kind = 'comm_open' | 'comm_msg' | 'comm_close';

export class Channel implements IDisposable {
  constructor(
    private readonly kernel: Kernel.IKernelConnection,
    target: string,
    private readonly subshell: string | null,
    private readonly ears: Ears,
    data: JSONObject
  ) {
    kernel.iopubMessage.connect(this.onMessage, this);
    this.post('comm_open', { target_name: target, data });
  }

  get isDisposed(): boolean {
    return this.done;
  }

  /** Send a message, and buffers beside it. */
  send(data: JSONObject, buffers: ArrayBuffer[] = []): void {
    this.post('comm_msg', { data }, this.subshell, buffers);
  }

  /** Close the comm, also in the kernel if there is one. */
  dispose(): void {
    if (this.done) {
      return;
    }
    this.end();
    if (!this.kernel.isDisposed && this.kernel.status !== 'dead') {
      // Not over the subshell: that may be deleted before it comes to this message.
      this.post('comm_close', { data: {} }, null);
    }
  }

  /** Say over another connection that the comm is closed. */
  closeOver(other: Kernel.IKernelConnection): void {
    if (!this.done && !other.isDisposed && other.status !== 'dead') {
      this.post('comm_close', { data: {} }, null, [], other);
    }
  }

  /** Forget the comm: its kernel is gone, or has closed it. */
  end(): void {
    this.done = true;
    this.kernel.iopubMessage.disconnect(this.onMessage, this);
  }

  private post(
    msgType: Kind,
    content: JSONObject,
    subshell = this.subshell,
    buffers: ArrayBuffer[] = [],
    kernel = this.kernel
  ): void {
    const message = KernelMessage.createMessage({
      msgType,
      channel: 'shell',
      username: kernel.username,
      session: kernel.clientId,
      ...(subshell === null ? {} : { subshellId: subshell }),
      content: { comm_id: this.id, ...content },
      buffers
    } as KernelMessage.IOptions<KernelMessage.ICommMsgMsg<'shell'>>);
    kernel.sendShellMessage(message, false, true);
  }

  private onMessage(_: unknown, message: KernelMessage.IIOPubMessage): void {
    if (KernelMessage.isCommMsgMsg(message) && message.content.comm_id === this.id) {
      this.ears.hear(message.content.data, (message.buffers ?? []).map(viewOf));
    } else if (KernelMessage.isCommCloseMsg(message) && message.content.comm_id === this.id) {
      this.end();
      this.ears.closed();
    }
  }

  private readonly id = UUID.uuid4();
  private done = false;
}

/** A buffer as it came, whatever of it is the message's. */
function viewOf(buffer: ArrayBuffer | ArrayBufferView): DataView {
  return ArrayBuffer.isView(buffer)
    ? new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new DataView(buffer);
}
