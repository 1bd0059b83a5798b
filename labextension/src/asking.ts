/** Questions to a view in the kernel, over the messages of a widget's model, or over a comm of JupyterLab's panel. */
import type * as v from 'valibot';
import { putIn, takenOut } from './buffers';
import { answered, readAs, refusal, Refused, writeRequest } from './payload';

/** What brings messages to a view in the kernel and back; anywidget's model is one. */
export interface Model {
  send(content: unknown, callbacks?: undefined, buffers?: ArrayBuffer[]): void;
  on: Ears;
  off: Ears;
}

/** What is heard: a message; or that a widget's kernel has gone, or is there again: what was asked before is not answered then. */
interface Ears {
  (event: 'msg:custom', heard: (content: unknown, buffers?: readonly DataView[]) => void): void;
  (event: 'comm_live_update', heard: () => void): void;
}

const GONE = new Refused('The kernel of this view is gone.', 'Run the cell that shows it again.');

/** The shapes of answers, by the name of the request. */
export type Shapes<Requests> = { readonly [Name in keyof Requests]: v.GenericSchema };

/** Asks by a named request; what is said along, and what is answered, are of that name. Rejects with Refused. */
export type AskOf<Requests, Answers extends Shapes<Requests>> = <Name extends keyof Requests & string>(
  name: Name,
  content: Requests[Name]
) => Promise<v.InferOutput<Answers[Name]>>;

export class Asking<Requests, Answers extends Shapes<Requests>> {
  constructor(
    private readonly model: Model,
    private readonly answers: Answers,
    /** Hears all that the view says: answers, also to others that show it, and events. */
    private readonly onSaid: (data: unknown) => void = () => undefined
  ) {
    model.on('msg:custom', this.hear);
    model.on('comm_live_update', this.gone);
  }

  /** Ask by a named request. Rejects with Refused if the kernel says why it will not answer. */
  readonly ask: AskOf<Requests, Answers> = (name, content) =>
    new Promise((resolve, reject) => {
      this.asked += 1;
      const answer = (data: unknown): void => {
        try {
          resolve(readAs(name, this.answers[name], data));
        } catch (problem) {
          reject(refusal(problem));
        }
      };
      this.waiting.set(this.asked, { answer, gone: reject });
      const [message, buffers] = takenOut(writeRequest(this.asked, name, content));
      try {
        this.model.send(message, undefined, buffers);
      } catch {
        this.waiting.delete(this.asked);
        reject(GONE);
      }
    });

  close(): void {
    this.model.off('msg:custom', this.hear);
    this.model.off('comm_live_update', this.gone);
    this.waiting.clear();
  }

  private readonly gone = (): void => {
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    waiting.forEach(each => {
      each.gone(GONE);
    });
  };

  private readonly hear = (content: unknown, buffers: readonly DataView[] = []): void => {
    const data = putIn(content, buffers);
    this.onSaid(data);
    const id = answered(data);
    const waiting = id === null ? undefined : this.waiting.get(id);
    if (id !== null && waiting !== undefined) {
      this.waiting.delete(id);
      waiting.answer(data);
    }
  };

  // Several widgets may show one view, and each hears the answers to all.
  private asked = Math.floor(Math.random() * 2 ** 40);
  private readonly waiting = new Map<number, { answer(data: unknown): void; gone(why: Refused): void }>();
}
