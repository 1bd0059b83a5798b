/** The culprits of one cause, some at a time, and the one that is looked at. */
import { useState } from 'preact/hooks';
import type { Ask, CulpritPage, Place, Standing } from '../crashing';
import { Culprit } from './culprit';
import { neighbour } from './arrows';
import type { During } from './useduring';
import { Wrong } from './frame';
import { useAnswer } from './useanswer';
import { Value } from './value';
import { Waiting } from './waiting';
import { counted, number } from './words';

export interface CauseOfProps {
  readonly standing: Standing;
  readonly chosen: Place;
  readonly ask: Ask;
  readonly choose: (place: Place) => void;
  readonly busy: boolean;
  readonly during: During;
}

/** Culprits of a page: as many as the kernel says at once. */
const ROWS = 8;

export function CauseOf({ standing, chosen, ask, choose, busy, during }: CauseOfProps) {
  const [start, setStart] = useState(chosen.at - (chosen.at % ROWS));
  const { cause } = chosen;
  const page = useAnswer(() => ask('page', { cause, start }), [start, standing.said, standing.known]);
  return (
    <section class="bd-look" aria-label="Culprits">
      {page.is === 'refused' && <Wrong why={page.why} again={page.again} />}
      {page.is === 'waiting' && <Waiting what="Asking the kernel…" />}
      {page.is === 'answered' && (
        <List
          page={page.answer}
          standing={standing}
          chosen={chosen.number}
          busy={busy}
          choose={choose}
          turn={setStart}
          skip={on => {
            void during(ask('skip', { of: 'cause', at: cause, on }));
          }}
        />
      )}
      <Culprit number={chosen.number} standing={standing} ask={ask} busy={busy} during={during} />
    </section>
  );
}

interface ListProps {
  readonly page: CulpritPage;
  readonly standing: Standing;
  readonly chosen: number;
  readonly busy: boolean;
  readonly choose: (place: Place) => void;
  readonly turn: (start: number) => void;
  readonly skip: (on: boolean) => void;
}

function List({ page, standing, chosen, busy, choose, turn, skip }: ListProps) {
  if (page.total === 1) {
    return null;
  }
  const told = standing.causes.find(each => each.cause === page.cause);
  const skipped = told !== undefined && told.skipped > 0 && told.open + told.fixed === 0;
  return (
    <div class="bd-list">
      <div class="bd-moves">
        <button
          type="button"
          aria-pressed={skipped}
          disabled={busy}
          onClick={() => {
            skip(!skipped);
          }}
        >
          {`Skip ${told !== undefined && told.repaired > 0 ? 'the others' : `all ${number(page.total)}`} of this cause`}
        </button>
        <Pages page={page} turn={turn} />
      </div>
      <ol class="bd-culprits" onKeyDown={onArrow}>
        {page.rows.map((row, at) => (
          <li key={row.number}>
            <button
              type="button"
              class={`bd-is-${row.decided}`}
              aria-current={row.number === chosen ? 'true' : undefined}
              onClick={() => {
                choose({ number: row.number, cause: page.cause, at: page.start + at });
              }}
            >
              <span class="bd-mark" title={MEANS[row.decided]}>
                {MARKS[row.decided]}
              </span>
              <span class="bd-record">
                <Value text={row.record} />
              </span>
              <span class="bd-spoken">{MEANS[row.decided]}</span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

const MARKS = { open: '○', skip: '⊘', repair: '✎', fix: 'ƒ' } as const;
const MEANS = { open: 'open', skip: 'skipped', repair: 'repaired', fix: 'fixed' } as const;

function Pages({ page, turn }: { page: CulpritPage; turn: (start: number) => void }) {
  if (page.total <= ROWS) {
    return <span class="bd-from">{counted(page.total, 'culprit')}</span>;
  }
  return (
    <span class="bd-pages" role="group" aria-label="Pages">
      <button
        type="button"
        aria-label="Earlier"
        disabled={page.start === 0}
        onClick={() => {
          turn(Math.max(0, page.start - ROWS));
        }}
      >
        ‹
      </button>
      <span>{`${number(page.start + 1)} to ${number(page.start + page.rows.length)} of ${number(page.total)}`}</span>
      <button
        type="button"
        aria-label="Later"
        disabled={page.start + ROWS >= page.total}
        onClick={() => {
          turn(page.start + ROWS);
        }}
      >
        ›
      </button>
    </span>
  );
}

/** Up and down go from culprit to culprit. */
function onArrow(event: KeyboardEvent): void {
  const next = neighbour(event, HTMLButtonElement, 'button');
  if (next !== undefined) {
    event.preventDefault();
    next.focus();
    next.click();
  }
}
