/** The marks of a cell: the runs that it made, each a way to the panel. */
import type { RunLine } from '../payload';
import { facts, MARKS } from './runitem';
import { counted } from './words';

/** Marks of a cell that are to be seen; a loop may make thousands of runs. */
const MOST = 5;

export interface CellMarksProps {
  /** Oldest first. */
  readonly runs: readonly RunLine[];
  /** Whether the cell says something else by now. */
  readonly edited: boolean;
  readonly show: (run: RunLine) => void;
}

export function CellMarks({ runs, edited, show }: CellMarksProps) {
  const left = runs.length - MOST;
  return (
    <>
      {left > 0 && <span class="bd-left">{`${counted(left, 'run')} before`}</span>}
      {runs.slice(-MOST).map(run => (
        <button
          key={run.id}
          type="button"
          class={`bd-${run.status}${edited ? ' bd-edited' : ''}`}
          title={[run.status, ...facts(run), ...(edited ? ['the cell was edited since'] : [])].join(' · ')}
          onClick={() => {
            show(run);
          }}
        >
          <span class="bd-mark" aria-label={run.status}>
            {MARKS[run.status]}
          </span>
          <bdi>{run.name}</bdi>
          {run.culprits.known > 0 && <span class="bd-culprits">{counted(run.culprits.known, 'culprit')}</span>}
        </button>
      ))}
    </>
  );
}
