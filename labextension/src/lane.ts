/** Connections and subshells of our own, so that a cell that runs keeps nobody of us waiting. */
import { KernelMessage, type Kernel } from '@jupyterlab/services';

/** How long a kernel that has nothing to do may take to say what it is, in milliseconds. */
const PATIENCE = 300;

/**
 * A connection of our own: it outlives the one of a notebook, which goes before what it still has to say has come to the kernel, and
 * does not wait for seconds with its first messages where a cell runs.
 */
export function ownConnection(kernel: Kernel.IKernelConnection): Kernel.IKernelConnection {
  const quick = { handleComms: false, kernelInfoTimeout: PATIENCE };
  return kernel.clone(quick);
}

/** A new subshell; null where kernels have none. */
export async function takeLane(kernel: Kernel.IKernelConnection): Promise<string | null> {
  try {
    const known = kernel.info.then(() => true);
    if (!(await Promise.race([known, later(PATIENCE, false)]))) {
      return await Promise.race([askedAll(kernel), known.then(() => takeLane(kernel))]);
    }
    if (!kernel.supportsSubshells) {
      return null;
    }
    const reply = await kernel.requestCreateSubshell({}).done;
    return reply.content.subshell_id;
  } catch {
    return null; // the kernel was started again, or has died: whoever waits for this sees that by itself
  }
}

/**
 * A new one of a kernel that has not said yet whether it has any: on a page that has just been loaded, a cell that runs keeps
 * it from that. One that has none never answers this.
 */
async function askedAll(kernel: Kernel.IKernelConnection): Promise<string> {
  const message = KernelMessage.createMessage<KernelMessage.ICreateSubshellRequestMsg>({
    msgType: 'create_subshell_request',
    channel: 'control',
    username: kernel.username,
    session: kernel.clientId,
    content: {}
  });
  const reply = await kernel.sendControlMessage(message, true, true).done;
  return (reply as KernelMessage.ICreateSubshellReplyMsg).content.subshell_id;
}

/** Gives it back, where there is one. */
export async function leaveLane(kernel: Kernel.IKernelConnection, lane: string | null): Promise<void> {
  if (lane !== null && !kernel.isDisposed && kernel.status !== 'dead') {
    try {
      await kernel.requestDeleteSubshell({ subshell_id: lane }).done;
    } catch {
      // a kernel that was started again has no such subshell
    }
  }
}

function later<Value>(milliseconds: number, value: Value): Promise<Value> {
  return new Promise(resolve => setTimeout(resolve, milliseconds, value));
}
