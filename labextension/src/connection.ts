/** A panel's connection to one kernel: whether bigdebug is there, what it tells, and answers to what is asked. */
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import { UUID } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { Channel } from './channel';
import { Fate } from './fate';
import { add, NOTHING, type Heard } from './heard';
import { leaveLane, takeLane } from './lane';
import { answered, CONTROL, EVENTS, readAnswer, readEvent, refusal, Refused, VERSION, writeRequest } from './payload';
import type { Answer, Asked, Requests } from './payload';

export type Phase =
  /** The kernel is asked whether bigdebug is there, or it starts again. */
  | { readonly is: 'asking' }
  /** bigdebug is not loaded in this kernel. */
  | { readonly is: 'absent' }
  /** bigdebug and this panel do not understand each other. */
  | { readonly is: 'refused'; readonly why: Refused }
  | { readonly is: 'dead' }
  | { readonly is: 'open'; readonly heard: Heard };

export type Ask = <Name extends Asked>(name: Name, content: Requests[Name]) => Promise<Answer<Name>>;

interface Waiting {
  answer(data: unknown): void;
  gone(why: Refused): void;
}

const GONE = new Refused('The kernel has gone before it answered.', 'Ask again when it is back.');

export class Connection implements IDisposable {
  readonly changed = new Signal<this, undefined>(this);

  /** With a connection to the kernel that is its own, and goes with it. */
  constructor(private readonly kernel: Kernel.IKernelConnection) {
    kernel.iopubMessage.connect(this.onMessage, this);
    this.fate = new Fate(kernel, {
      restarts: () => {
        this.onRestart();
      },
      rests: () => {
        this.onRest();
      },
      goes: () => {
        this.onDead();
      }
    });
    void this.connect();
  }

  /** The id of its kernel. */
  get kernelId(): string {
    return this.kernel.id;
  }

  get phase(): Phase {
    return this.current;
  }

  get isDisposed(): boolean {
    return this.done;
  }

  /** Ask the kernel by a named request. Rejects with Refused if it does not answer, or says why it will not. */
  readonly ask: Ask = (name, content) =>
    new Promise((resolve, reject) => {
      const control = this.control;
      if (control === null) {
        reject(GONE);
        return;
      }
      this.asked += 1;
      this.waiting.set(this.asked, {
        answer: data => {
          try {
            resolve(readAnswer(name, data));
          } catch (problem) {
            reject(refusal(problem));
          }
        },
        gone: reject
      });
      control.send({ ...writeRequest(this.asked, name, content) });
    });

  /** Look whether bigdebug is there, again if it was looked for before. */
  async connect(): Promise<void> {
    void this.hangUp();
    this.attempt += 1;
    const attempt = this.attempt;
    this.enter({ is: 'asking' });
    const subshell = await takeLane(this.kernel);
    if (attempt !== this.attempt || this.done) {
      await leaveLane(this.kernel, subshell); // the kernel was started again meanwhile, or nobody looks any more
      return;
    }
    this.lane = subshell;
    const closed = (): void => {
      void this.hangUp();
      this.enter({ is: 'absent' });
    };
    const panel = UUID.uuid4(); // by which the kernel knows that the two belong together
    this.control = new Channel(
      this.kernel,
      CONTROL,
      subshell,
      { hear: data => this.waitingFor(answered(data))?.answer(data), closed },
      { panel }
    );
    this.events = new Channel(
      this.kernel,
      EVENTS,
      subshell,
      { hear: data => void this.hear(data), closed },
      { version: VERSION, panel }
    );
  }

  /**
   * The page goes. The server hands on what comes last only on the last of its connections to a kernel, and which one that is nobody
   * can tell: so the end is said over another one, too.
   */
  depart(other: Kernel.IKernelConnection): void {
    this.control?.closeOver(other);
    this.dispose();
  }

  dispose(): void {
    if (this.done) {
      return;
    }
    this.done = true;
    this.kernel.iopubMessage.disconnect(this.onMessage, this);
    this.fate.dispose();
    void this.hangUp().finally(() => {
      this.kernel.dispose();
    });
    Signal.clearData(this);
  }

  // ---- what the kernel says ----------------------------------------------------------------------------------------

  private async hear(data: unknown): Promise<void> {
    try {
      const changes = readEvent(data);
      const before = this.current.is === 'open' ? this.current.heard : NOTHING;
      const heard = add(before, changes) ?? add(NOTHING, await this.ask('changes', { after: 0 }));
      if (heard !== null && this.control !== null) {
        this.enter({ is: 'open', heard });
      }
    } catch (problem) {
      if (problem === GONE) {
        return; // the phase says so
      }
      void this.hangUp();
      this.enter({ is: 'refused', why: refusal(problem) });
    }
  }

  private waitingFor(request: number | null): Waiting | undefined {
    if (request === null) {
      return undefined;
    }
    const found = this.waiting.get(request);
    this.waiting.delete(request);
    return found;
  }

  // ---- what becomes of the kernel ----------------------------------------------------------------------------------

  private onRestart(): void {
    this.forget();
    this.speaking.clear();
    this.attempt += 1;
    this.anew = true;
    this.enter({ is: 'asking' });
  }

  private onRest(): void {
    if (this.anew) {
      this.anew = false;
      void this.connect();
    }
  }

  /**
   * A cell that speaks of bigdebug may have loaded it: look again when that cell has ended, also where it began before this kernel had
   * answered. That the kernel rests says nothing of a cell: so it does after each of our own messages, too.
   */
  private onMessage(_: unknown, message: KernelMessage.IIOPubMessage): void {
    const cell = 'msg_id' in message.parent_header ? message.parent_header.msg_id : '';
    if (KernelMessage.isExecuteInputMsg(message) && message.content.code.includes('bigdebug')) {
      this.speaking.add(cell);
    } else if (KernelMessage.isStatusMsg(message) && message.content.execution_state === 'idle') {
      if (this.speaking.delete(cell) && this.current.is !== 'open' && this.current.is !== 'dead') {
        void this.connect();
      }
    }
  }

  private onDead(): void {
    this.forget();
    this.attempt += 1;
    this.anew = false;
    this.enter({ is: 'dead' });
  }

  // ---- channels ----------------------------------------------------------------------------------------------------

  /** Close what is open. */
  private hangUp(): Promise<void> {
    this.control?.dispose();
    this.events?.dispose();
    const left = leaveLane(this.kernel, this.lane);
    this.forget();
    return left;
  }

  /** Forget what was open, and who waits for it. */
  private forget(): void {
    this.control?.end();
    this.events?.end();
    this.control = this.events = this.lane = null;
    this.waiting.forEach(each => {
      each.gone(GONE);
    });
    this.waiting.clear();
  }

  private enter(phase: Phase): void {
    if (!this.done) {
      this.current = phase;
      this.changed.emit(undefined);
    }
  }

  private readonly fate: Fate;
  private current: Phase = { is: 'asking' };
  private control: Channel | null = null;
  private events: Channel | null = null;
  private lane: string | null = null;
  private asked = 0;
  private attempt = 0;
  /** Whether to look again as soon as the kernel has nothing to do. */
  private anew = false;
  /** The cells that run, or wait for it, and speak of bigdebug. */
  private readonly speaking = new Set<string>();
  private done = false;
  private readonly waiting = new Map<number, Waiting>();
}
