/** A widget's questions to its view in the kernel, over the messages of its model. */
import { answered, refusal, Refused } from './payload';
import { moved, readAnswer, writeRequest, type Ask, type Standing } from './tracing';

/** What a widget's model does for us; anywidget's is one. */
export interface Model {
  send(content: unknown): void;
  on(event: 'msg:custom', heard: (content: unknown) => void): void;
  off(event: 'msg:custom', heard: (content: unknown) => void): void;
}

export class Asking {
  constructor(
    private readonly model: Model,
    /** The view has moved: by this widget, or by another that shows it. */
    private readonly onMove: (standing: Standing) => void
  ) {
    model.on('msg:custom', this.hear);
  }

  /** Ask by a named request. Rejects with Refused if the kernel says why it will not answer. */
  readonly ask: Ask = (name, content) =>
    new Promise((resolve, reject) => {
      this.asked += 1;
      this.waiting.set(this.asked, data => {
        try {
          resolve(readAnswer(name, data));
        } catch (problem) {
          reject(refusal(problem));
        }
      });
      try {
        this.model.send(writeRequest(this.asked, name, content));
      } catch {
        this.waiting.delete(this.asked);
        reject(new Refused('The kernel of this view is gone.', 'Run the cell that shows it again.'));
      }
    });

  close(): void {
    this.model.off('msg:custom', this.hear);
    this.waiting.clear();
  }

  private readonly hear = (data: unknown): void => {
    const standing = moved(data);
    if (standing !== null) {
      this.onMove(standing);
    }
    const id = answered(data);
    const waiting = id === null ? undefined : this.waiting.get(id);
    if (id !== null && waiting !== undefined) {
      this.waiting.delete(id);
      waiting(data);
    }
  };

  // Several widgets may show one view, and each hears the answers to all.
  private asked = Math.floor(Math.random() * 2 ** 40);
  private readonly waiting = new Map<number, (data: unknown) => void>();
}
