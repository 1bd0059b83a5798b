/** A kernel as a connection sees it: what is sent to it is kept, what it says is said by the test. Real kernels are in tests/browser. */
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';

interface Sent {
  readonly type: string;
  readonly subshell: string | null | undefined;
  readonly content: { comm_id: string; target_name?: string; data: Record<string, unknown> };
  readonly buffers: readonly ArrayBuffer[];
}

export class HandKernel {
  readonly statusChanged = new Signal<this, KernelMessage.Status>(this);
  readonly iopubMessage = new Signal<this, KernelMessage.IIOPubMessage>(this);
  readonly disposed = new Signal<this, undefined>(this);
  readonly sent: Sent[] = [];
  /** Subshells that are open. */
  readonly subshells = new Set<string>();
  readonly info = Promise.resolve({});
  readonly username = 'user';
  readonly clientId = 'client';
  isDisposed = false;
  status: KernelMessage.Status = 'idle';

  constructor(readonly supportsSubshells = true) {}

  get connection(): Kernel.IKernelConnection {
    return this as unknown as Kernel.IKernelConnection;
  }

  requestCreateSubshell() {
    const subshell_id = `subshell ${(this.made += 1)}`;
    this.subshells.add(subshell_id);
    return { done: Promise.resolve({ content: { subshell_id } }) };
  }

  requestDeleteSubshell({ subshell_id }: { subshell_id: string }) {
    this.subshells.delete(subshell_id);
    return { done: Promise.resolve({}) };
  }

  sendShellMessage(message: KernelMessage.IShellMessage): void {
    const header = message.header as { msg_type: string; subshell_id?: string | null };
    this.sent.push({
      type: header.msg_type,
      subshell: header.subshell_id,
      content: message.content as Sent['content'],
      buffers: (message.buffers ?? []) as ArrayBuffer[]
    });
  }

  /** The comm that was opened last for a target. */
  comm(target: string): string {
    return this.sent.findLast(each => each.content.target_name === target)?.content.comm_id ?? 'none';
  }

  /** What was said on a comm. */
  on(comm: string): Record<string, unknown>[] {
    return this.sent
      .filter(each => each.type === 'comm_msg' && each.content.comm_id === comm)
      .map(each => each.content.data);
  }

  says(comm: string, data: unknown, buffers: DataView[] = []): void {
    this.publish('comm_msg', { comm_id: comm, data }, buffers);
  }

  closes(comm: string): void {
    this.publish('comm_close', { comm_id: comm, data: {} });
  }

  /** A cell runs, from its start to its end. */
  runs(code: string): void {
    this.begins(code)();
  }

  /** A cell begins; what this gives ends it. */
  begins(code: string): () => void {
    const cell = `cell ${(this.made += 1)}`;
    this.becomes('busy');
    this.publish('execute_input', { code, execution_count: 1 }, [], cell);
    return () => {
      this.publish('status', { execution_state: 'idle' }, [], cell);
      this.becomes('idle');
    };
  }

  becomes(status: KernelMessage.Status): void {
    this.status = status;
    this.statusChanged.emit(status);
  }

  /** Another window starts it again. */
  restartsElsewhere(): void {
    this.publish('shutdown_reply', { status: 'ok', restart: true });
  }

  dispose(): void {
    this.isDisposed = true;
    this.disposed.emit(undefined);
  }

  private publish(msg_type: string, content: unknown, buffers: DataView[] = [], parent = ''): void {
    this.iopubMessage.emit({
      channel: 'iopub',
      header: { msg_type },
      parent_header: { msg_id: parent },
      content,
      buffers
    } as unknown as KernelMessage.IIOPubMessage);
  }

  private made = 0;
}
