/** The view of a watch in an element. */
import { h, render } from 'preact';
import { Asking, type Model } from './asking';
import { WatchView } from './view/watchview';
import { ANSWERS, type Requests } from './watching';

export function watch(model: Model, el: HTMLElement): () => void {
  const asking = new Asking<Requests, typeof ANSWERS>(model, ANSWERS);
  render(h(WatchView, { ask: asking.ask }), el);
  return () => {
    asking.close();
    render(null, el);
  };
}
