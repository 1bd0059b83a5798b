/** The replay view in an element. */
import { h, render } from 'preact';
import { Asking, type Model } from './asking';
import { ANSWERS, type Requests } from './comparing';
import { ComparisonView } from './view/comparisonview';

export function comparison(model: Model, el: HTMLElement): () => void {
  const asking = new Asking<Requests, typeof ANSWERS>(model, ANSWERS);
  render(h(ComparisonView, { ask: asking.ask }), el);
  return () => {
    asking.close();
    render(null, el);
  };
}
