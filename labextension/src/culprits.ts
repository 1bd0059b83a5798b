/** The culprit view in an element: asks, and is drawn anew when the kernel tells that something has changed. */
import { h, render } from 'preact';
import { Asking, type Model } from './asking';
import { ANSWERS, told, type Requests, type Standing } from './crashing';
import { CulpritView } from './view/culpritview';

export function culprits(model: Model, el: HTMLElement): () => void {
  let standing: Standing | null = null;
  const asking = new Asking<Requests, typeof ANSWERS>(model, ANSWERS, data => {
    const now = told(data);
    if (now !== null && (standing === null || now.change >= standing.change)) {
      standing = now;
      draw();
    }
  });
  const draw = (): void => {
    render(h(CulpritView, { ask: asking.ask, told: standing }), el);
  };
  draw();
  return () => {
    asking.close();
    render(null, el);
  };
}
