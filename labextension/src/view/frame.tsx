/** The frame of every view: its styles, its own keys, and what is wrong with it as a whole. */
import type { ComponentChildren } from 'preact';
import type { Refused } from '../payload';
import { Notice } from './notice';

export function Frame({ kind, children }: { kind: string; children: ComponentChildren }) {
  return (
    // JupyterLab's shortcuts are letters: here they are ours.
    <div class={`bd-view bd-${kind}`} data-lm-suppress-shortcuts="true">
      {children}
    </div>
  );
}

/** Why something was not answered, and what to do; `again` is called by whoever has done it. */
export function Wrong({ why, again }: { why: Refused; again?: () => void }) {
  return (
    <Notice what={why.what} wrong>
      <p>{why.remedy}</p>
      {again !== undefined && (
        <button type="button" onClick={again}>
          Look again
        </button>
      )}
    </Notice>
  );
}

/** What is wrong with all of a view, with a way to look again. */
export function WrongView({ kind, why, again }: { kind: string; why: Refused; again: () => void }) {
  return (
    <Frame kind={kind}>
      <Wrong why={why} again={again} />
    </Frame>
  );
}
