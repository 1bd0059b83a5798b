/** The culprit view: what crashed by cause, one culprit with its record, and the run resumed as somebody decided. */
import { useState } from 'preact/hooks';
import type { Ask, Place, Standing } from '../crashing';
import { Common } from './common';
import { Causes } from './crashcauses';
import { CauseOf } from './culpritlist';
import { Wrong } from './frame';
import { Notice } from './notice';
import { Resume } from './resume';
import { Stands } from './standing';
import { useDuring, type During } from './useduring';
import { Late } from './waiting';
import { counted, number } from './words';

export interface CulpritViewProps {
  readonly ask: Ask;
  /** How the view stands as it told last; null if it has not told anything. */
  readonly told: Standing | null;
}

export function CulpritView({ ask, told }: CulpritViewProps) {
  return (
    <Stands kind="crashes" look={() => ask('culprits', {})} told={told} turn={now => now.change}>
      {standing => <Whole ask={ask} standing={standing} />}
    </Stands>
  );
}

function Whole({ ask, standing }: { ask: Ask; standing: Standing }) {
  const { busy, problem, during } = useDuring();
  const [chosen, choose] = useState<Place | null>(null);
  const here = chosen ?? standing.first ?? begin(standing);
  return (
    <>
      <header>
        <span class="bd-summary">{summary(standing)}</span>
        <span class="bd-busy" role="status">
          {busy && (
            <>
              Asking the kernel… <Late />
            </>
          )}
        </span>
      </header>
      <More ask={ask} standing={standing} busy={busy} during={during} />
      <Common ask={ask} known={standing.known} />
      {here !== null && (
        <div class="bd-halves">
          <Causes standing={standing} chosen={here.cause} choose={choose} />
          <CauseOf
            key={here.cause}
            standing={standing}
            chosen={here}
            ask={ask}
            choose={choose}
            busy={busy}
            during={during}
          />
        </div>
      )}
      {problem !== null && <Wrong why={problem} />}
      {standing.known > 0 && <Resume ask={ask} standing={standing} busy={busy} during={during} />}
      {standing.notes.map((note, index) => (
        <p key={index} class="bd-note">
          {note}
        </p>
      ))}
    </>
  );
}

/** The first culprit of the most frequent cause. */
function begin({ causes: [most] }: Standing): Place | null {
  return most === undefined ? null : { number: most.first, cause: most.cause, at: 0 };
}

function summary({ name, known, complete, causes, left }: Standing) {
  const reasons = causes.length + left;
  return (
    <>
      {known === 0 && complete ? 'No culprits' : counted(known, 'culprit')}
      {!complete && ' so far'}
      {name !== null && (
        <>
          {' of '}
          <bdi>{name}</bdi>
        </>
      )}
      {reasons > 1 && `, ${number(reasons)} causes`}
    </>
  );
}

interface MoreProps {
  readonly ask: Ask;
  readonly standing: Standing;
  readonly busy: boolean;
  readonly during: During;
}

/** What is not known yet, and how it is found. */
function More({ ask, standing, busy, during }: MoreProps) {
  if (standing.complete) {
    return standing.known > 0 ? null : <Notice what="No record crashed by itself, so there is none to look at." />;
  }
  return (
    <div class="bd-more">
      <span>There may be others: finding them runs again what had not finished.</span>
      <button
        type="button"
        disabled={busy || standing.doing !== null}
        onClick={() => {
          void during(ask('find', {}));
        }}
      >
        Find all
      </button>
    </div>
  );
}
