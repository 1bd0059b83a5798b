/** The trace view in an element: asks, and is drawn anew when the view has moved. */
import { h, render } from 'preact';
import { Asking, type Model } from './asking';
import { ANSWERS, moved, type Requests, type Standing } from './tracing';
import { TraceView } from './view/traceview';

export function trace(model: Model, el: HTMLElement): () => void {
  let standing: Standing | null = null;
  const asking = new Asking<Requests, typeof ANSWERS>(model, ANSWERS, data => {
    const now = moved(data);
    if (now !== null && (standing === null || now.change >= standing.change)) {
      standing = now;
      draw();
    }
  });
  const draw = (): void => {
    render(h(TraceView, { ask: asking.ask, moved: standing }), el);
  };
  draw();
  return () => {
    asking.close();
    render(null, el);
  };
}
