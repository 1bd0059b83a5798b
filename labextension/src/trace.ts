/** The widget of the trace view, as anywidget loads it. */
import { h, render } from 'preact';
import { Asking, type Model } from './asking';
import type { Standing } from './tracing';
import { TraceView } from './view/traceview';
import '../style/trace.css';

function show({ model, el }: { model: Model; el: HTMLElement }): () => void {
  let standing: Standing | null = null;
  const asking = new Asking(model, now => {
    if (standing === null || now.change >= standing.change) {
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

export default { render: show };
