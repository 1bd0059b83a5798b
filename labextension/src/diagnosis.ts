/** The localization view in an element: asks, and is drawn anew when the search has gone on. */
import { h, render } from 'preact';
import { Asking, type Model } from './asking';
import { ANSWERS, stands, type Requests, type Standing } from './diagnosing';
import { DiagnosisView } from './view/diagnosisview';

export function diagnosis(model: Model, el: HTMLElement): () => void {
  let told: Standing | null = null;
  const asking = new Asking<Requests, typeof ANSWERS>(model, ANSWERS, data => {
    const now = stands(data);
    if (now !== null && (told === null || now.at > told.at)) {
      told = now;
      draw();
    }
  });
  const draw = (): void => {
    render(h(DiagnosisView, { ask: asking.ask, told }), el);
  };
  draw();
  return () => {
    asking.close();
    render(null, el);
  };
}
