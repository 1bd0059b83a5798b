/** A line to one view in a kernel: whether there is one, and what brings its messages. Opened again when it is asked to be. */
import type { Kernel } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import * as v from 'valibot';
import type { Model } from './asking';
import { Channel } from './channel';
import { Fate } from './fate';
import { leaveLane, takeLane } from './lane';
import { answered, isAnswer, readAs, refusal, Refused, VIEW, writeRequest } from './payload';

/** The view of a run, which is told from all others by its id and by when it began; or of a watch, by its id. */
export interface Wanted {
  run: string;
  began: number | null;
  kind: string;
}

export type LinePhase =
  | { readonly is: 'asking' }
  | { readonly is: 'wrong'; readonly why: Refused }
  | { readonly is: 'open'; readonly kind: string; readonly model: Model };

const Opened = v.object({ run: v.string(), kind: v.string() });

const AGAIN = 'Run its cell again, and open the new run from the panel of bigdebug.';
export const NO_KERNEL = new Refused('The kernel of this view is gone, and its run went with it.', AGAIN);
export const RESTARTED = new Refused('The kernel was started again, and the run of this view went with it.', AGAIN);
export const ABSENT = new Refused(
  'bigdebug is not loaded in this kernel.',
  'Run %load_ext bigdebug in a cell; runs of a kernel in which it was loaded before are there again.'
);

export class Line implements IDisposable {
  readonly changed = new Signal<this, undefined>(this);

  constructor(
    /** A connection of our own to the kernel, if it is there. */
    private readonly find: () => Promise<Kernel.IKernelConnection | null>,
    private readonly wanted: Wanted
  ) {
    void this.connect();
  }

  get phase(): LinePhase {
    return this.current;
  }

  get isDisposed(): boolean {
    return this.done;
  }

  /** Ask for the view, again if it was asked for before. */
  async connect(): Promise<void> {
    this.hangUp();
    const attempt = this.attempt;
    this.enter({ is: 'asking' });
    const kernel = await this.find();
    if (attempt !== this.attempt || kernel === null) {
      kernel?.dispose();
      this.fail(attempt, NO_KERNEL);
      return;
    }
    const fate = new Fate(kernel, {
      restarts: () => {
        this.fail(attempt, RESTARTED);
      },
      rests: () => undefined,
      goes: () => {
        this.fail(attempt, NO_KERNEL);
      }
    });
    const lane = await takeLane(kernel);
    const close = (): void => {
      fate.dispose();
      void leaveLane(kernel, lane).finally(() => {
        kernel.dispose();
      });
    };
    if (attempt !== this.attempt) {
      close();
      return;
    }
    this.open(kernel, lane, attempt, close);
  }

  dispose(): void {
    if (!this.done) {
      this.hangUp();
      this.done = true;
      Signal.clearData(this);
    }
  }

  private open(kernel: Kernel.IKernelConnection, lane: string | null, attempt: number, close: () => void): void {
    const { run, began, kind } = this.wanted;
    const ears = new Set<(content: unknown, buffers?: readonly DataView[]) => void>();
    const channel = new Channel(
      kernel,
      VIEW,
      lane,
      {
        hear: (data, buffers) => {
          // A view that is at work may say something before its answer has come, which the answer has as well.
          if (this.current.is === 'asking' && isAnswer(data) && (answered(data) === 0 || answered(data) === null)) {
            this.begin(data, attempt, model);
          } else {
            ears.forEach(ear => {
              ear(data, buffers);
            });
          }
        },
        closed: () => {
          this.fail(attempt, ABSENT);
        }
      },
      writeRequest(0, 'view', { run, began, kind })
    );
    const model: Model = {
      send: (content, _, buffers = []) => {
        if (channel.isDisposed) {
          throw new Error('the line is closed');
        }
        channel.send(content as JSONObject, buffers);
      },
      // That a kernel has gone, the line itself finds out: nothing of the view is there any more then.
      on: (event, ear) => {
        if (event === 'msg:custom') {
          ears.add(ear);
        }
      },
      off: (_, ear) => {
        ears.delete(ear);
      }
    };
    this.close = () => {
      channel.dispose();
      close();
    };
  }

  private begin(data: unknown, attempt: number, model: Model): void {
    try {
      const { kind } = readAs('view', Opened, data) as v.InferOutput<typeof Opened>;
      this.enter({ is: 'open', kind, model });
    } catch (problem) {
      this.fail(attempt, refusal(problem));
    }
  }

  /** The line of an attempt is over. */
  private fail(attempt: number, why: Refused): void {
    if (attempt === this.attempt) {
      this.hangUp();
      this.enter({ is: 'wrong', why });
    }
  }

  private hangUp(): void {
    this.attempt += 1;
    this.close();
    this.close = () => undefined;
  }

  private enter(phase: LinePhase): void {
    if (!this.done) {
      this.current = phase;
      this.changed.emit(undefined);
    }
  }

  private current: LinePhase = { is: 'asking' };
  private close: () => void = () => undefined;
  private attempt = 0;
  private done = false;
}
