/** The kinds of views: each is drawn into an element, and asks over a model, until what it gives is called. */
import { render } from 'preact';
import type { Model } from './asking';
import { brush } from './brush';
import { comparison } from './comparison';
import { culprits } from './culprits';
import { datasets } from './datasets';
import { diagnosis } from './diagnosis';
import { trace } from './trace';
import { Notice } from './view/notice';
import { watch } from './watch';

type Draw = (model: Model, el: HTMLElement) => () => void;

const KINDS: Readonly<Record<string, Draw>> = { brush, comparison, culprits, datasets, diagnosis, trace, watch };

/** Draws a view of a kind; of one that is not known, what to do. */
export function draw(kind: string, model: Model, el: HTMLElement): () => void {
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  return (known ?? unknown(kind))(model, el);
}

const unknown =
  (kind: string): Draw =>
  (_, el) => {
    render(
      <Notice what={`This JupyterLab knows no view of the kind “${kind}”.`} wrong>
        <p>Install the same bigdebug where JupyterLab runs and where the kernel does, and reload the page.</p>
      </Notice>,
      el
    );
    return () => {
      render(null, el);
    };
  };
