/** A view in an element: asks over a model, and is drawn anew when the kernel tells that it stands elsewhere. */
import { h, render, type FunctionComponent } from 'preact';
import { Asking, type AskOf, type Model, type Shapes } from './asking';

interface Props<Requests, Answers extends Shapes<Requests>, Standing> {
  readonly ask: AskOf<Requests, Answers>;
  readonly told: Standing | null;
}

/** What draws a view that tells how it stands; `heard` reads that, and the later one has the higher `turn`. */
export function standing<Requests, Answers extends Shapes<Requests>, Standing>(
  answers: Answers,
  view: FunctionComponent<Props<Requests, Answers, Standing>>,
  heard: (data: unknown) => Standing | null,
  turn: (standing: Standing) => number
): (model: Model, el: HTMLElement) => () => void {
  return (model, el) => {
    let told: Standing | null = null;
    const asking = new Asking<Requests, Answers>(model, answers, data => {
      const now = heard(data);
      if (now !== null && (told === null || turn(now) >= turn(told))) {
        told = now;
        draw();
      }
    });
    const draw = (): void => {
      render(h(view, { ask: asking.ask, told }), el);
    };
    draw();
    return () => {
      asking.close();
      render(null, el);
    };
  };
}

/** What draws a view that tells nothing by itself. */
export function asked<Requests, Answers extends Shapes<Requests>>(
  answers: Answers,
  view: FunctionComponent<{ readonly ask: AskOf<Requests, Answers> }>
): (model: Model, el: HTMLElement) => () => void {
  return standing<Requests, Answers, null>(
    answers,
    view,
    () => null,
    () => 0
  );
}
