/** One run: a line that opens to its operators and the causes of its crashes. */
import { useId, useState } from 'preact/hooks';
import type { Ask } from '../connection';
import { keyOf, onlyAsked } from '../heard';
import type { RunDetails, RunLine } from '../payload';
import { Causes, Operators } from './details';
import { Wrong } from './frame';
import { Notice } from './notice';
import { useAnswer } from './useanswer';
import { counted, day, seconds, size, time } from './words';

/** Opens a view in the main area: of a run; of a watch, which has no beginning; of all datasets, which have no number. */
export type View = (
  of: Pick<RunLine, 'id' | 'began' | 'name'>,
  kind: 'trace' | 'culprits' | 'watch' | 'datasets'
) => void;

export interface RunItemProps {
  readonly run: RunLine;
  readonly ask: Ask;
  /** Shows a cell of the notebook; false if it has none of that id. */
  readonly reveal: (cell: string) => boolean;
  /** Opens a view of the run in the main area. */
  readonly view: View;
  /** Whether its operators and causes are to be seen. */
  readonly open: boolean;
  readonly toggle: () => void;
}

export const MARKS = { succeeded: '✓', failed: '✗', partial: '◐' } as const;

export function RunItem({ run, ask, reveal, view, open, toggle }: RunItemProps) {
  const body = useId();
  return (
    <li class={`bd-run bd-${onlyAsked(run) ? 'asked' : run.status}`} data-run={keyOf(run)}>
      <button type="button" class="bd-head" aria-expanded={open} aria-controls={body} onClick={toggle}>
        <Mark run={run} />
        <span class="bd-name">
          <bdi>{run.name}</bdi>
        </span>
        <Began run={run} />
        <span class="bd-facts">{facts(run).join(' · ')}</span>
        <CulpritCount run={run} />
      </button>
      <div id={body} class="bd-body" hidden={!open}>
        {open && <Body run={run} ask={ask} reveal={reveal} view={view} />}
      </div>
    </li>
  );
}

/** How it ended; a DataFrame that was only asked about did not run. */
function Mark({ run }: { run: RunLine }) {
  const [how, sign] = onlyAsked(run) ? ['asked about', '?'] : [run.status, MARKS[run.status]];
  return (
    <span class="bd-mark" aria-label={how} title={how}>
      {sign}
    </span>
  );
}

/** When its action began; of a DataFrame that was only asked about, when that was noticed. */
function Began({ run }: { run: RunLine }) {
  const moment = run.began ?? run.noted;
  return (
    <time
      dateTime={new Date(moment * 1000).toISOString()}
      title={`${onlyAsked(run) ? 'noticed' : 'began'} ${day(moment)}`}
    >
      {time(moment)}
    </time>
  );
}

/** What a run did, as far as it was counted. */
export function facts(run: RunLine): string[] {
  if (onlyAsked(run)) {
    return [];
  }
  if (run.status === 'failed' && run.bytes === 0) {
    return run.action === run.name ? [] : [run.action]; // nothing was captured, so nothing was counted
  }
  return [
    run.action === run.name ? null : run.action,
    run.read === null ? null : `${counted(run.read, 'record')} in`,
    run.outputs === null ? null : counted(run.outputs, 'output'),
    run.seconds === null ? null : `${seconds(run.seconds)} in tasks`,
    run.bytes === null ? null : `lineage ${size(run.bytes)}`
  ].filter(fact => fact !== null);
}

function CulpritCount({ run }: { run: RunLine }) {
  const { known, complete } = run.culprits;
  if (known === 0) {
    return complete ? null : <span class="bd-culprits">looking for culprits</span>;
  }
  return <span class="bd-culprits">{`${counted(known, 'culprit')}${complete ? '' : ' so far'}`}</span>;
}

/** Where one can go on from a run. */
function Ways({ run, reveal, view }: Pick<RunItemProps, 'run' | 'reveal' | 'view'>) {
  const open = (kind: 'trace' | 'culprits') => () => {
    view(run, kind);
  };
  return (
    <div class="bd-ways">
      <button type="button" onClick={open('trace')}>
        Records
      </button>
      {run.culprits.known > 0 && (
        <button type="button" onClick={open('culprits')}>
          Culprits
        </button>
      )}
      {run.cell !== null && <CellLink cell={run.cell} reveal={reveal} />}
    </div>
  );
}

function CellLink({ cell, reveal }: { cell: string; reveal: RunItemProps['reveal'] }) {
  const [gone, setGone] = useState(false);
  if (gone) {
    return <p class="bd-note">Its cell is not in this notebook any more.</p>;
  }
  return (
    <button
      type="button"
      class="bd-cell"
      onClick={() => {
        setGone(!reveal(cell));
      }}
    >
      Show its cell
    </button>
  );
}

function Body({ run, ask, reveal, view }: Pick<RunItemProps, 'run' | 'ask' | 'reveal' | 'view'>) {
  // Asked again when more culprits are known; what is shown stays until the answer comes.
  const details = useAnswer<RunDetails>(() => ask('run', { run: run.id }), [run.id, run.noted, run.culprits.known]);
  if (details.is === 'waiting') {
    return <Notice what="Asking the kernel…" />;
  }
  if (details.is === 'refused') {
    return <Wrong why={details.why} again={details.again} />;
  }
  const { operators, causes, notes } = details.answer;
  return (
    <>
      <Ways run={run} reveal={reveal} view={view} />
      <Causes causes={causes} />
      <Operators operators={operators} />
      {[...run.incomplete, ...notes].map((note, at) => (
        <p key={at} class="bd-note">
          {note}
        </p>
      ))}
    </>
  );
}
