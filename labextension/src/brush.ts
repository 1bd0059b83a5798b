/** The brush view in an element: linked charts, drawn anew whenever what they show has changed. */
import { h, render } from 'preact';
import { Asking, type Model } from './asking';
import { ANSWERS, changed, type Requests } from './brushing';
import { Linked } from './linked';
import { BrushView } from './view/brushview';

export function brush(model: Model, el: HTMLElement): () => void {
  const asking = new Asking<Requests, typeof ANSWERS>(model, ANSWERS, data => {
    const heard = changed(data);
    if (heard !== null) {
      linked.hear(heard);
    }
  });
  const draw = (): void => {
    render(h(BrushView, { ask: asking.ask, linked, standing: linked.standing }), el);
  };
  const linked: Linked = new Linked(asking.ask, draw);
  void linked.open();
  return () => {
    asking.close();
    render(null, el);
  };
}
