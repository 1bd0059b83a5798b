/** The trace view: the operators of a run, the way of a trace over them, and the records where it stands. */
import { useState } from 'preact/hooks';
import type { Ask, Move, Standing } from '../tracing';
import { Crumbs } from './crumbs';
import { Wrong } from './frame';
import { OperatorGraph } from './operatorgraph';
import { Records, type Choice } from './records';
import { Stands } from './standing';
import { useDuring, type During } from './useduring';
import { Late } from './waiting';

export interface TraceViewProps {
  readonly ask: Ask;
  /** Where the view stands since it was last moved; null if it was not. */
  readonly told: Standing | null;
}

export function TraceView({ ask, told }: TraceViewProps) {
  return (
    <Stands kind="trace" look={() => ask('trace', {})} told={told} turn={now => now.change}>
      {standing => <Standpoint ask={ask} standing={standing} />}
    </Stands>
  );
}

function Standpoint({ ask, standing }: { ask: Ask; standing: Standing }) {
  const { busy, problem, during } = useDuring();
  return (
    <>
      <header>
        <span class="bd-summary">
          <bdi>{standing.summary}</bdi>
        </span>
        <span class="bd-busy" role="status">
          {busy && (
            <>
              Asking the kernel… <Late />
            </>
          )}
        </span>
      </header>
      <Crumbs
        standing={standing}
        busy={busy}
        go={to => {
          void during(ask('crumb', { at: to }));
        }}
      />
      {problem !== null && <Wrong why={problem} />}
      <Place key={standing.change} standing={standing} busy={busy} ask={ask} during={during} />
      {standing.notes.map((note, index) => (
        <p key={index} class="bd-note">
          {note}
        </p>
      ))}
    </>
  );
}

interface PlaceProps {
  readonly standing: Standing;
  readonly busy: boolean;
  readonly ask: Ask;
  readonly during: During;
}

/** Where the trace stands: the operators and the records, of which some are chosen. */
function Place({ standing, busy, ask, during }: PlaceProps) {
  const { at } = standing;
  const [choice, choose] = useState<Choice>({
    operator: standing.crumbs[at]?.operators[0] ?? 0,
    numbers: new Set()
  });
  const move = ({ operator, numbers }: Choice, how: Move, to?: number): void => {
    void during(ask('move', { at, operator, numbers: [...numbers], move: how, ...(to === undefined ? {} : { to }) }));
  };
  return (
    <div class="bd-halves">
      <OperatorGraph
        standing={standing}
        busy={busy}
        go={to => {
          move(choice, 'to', to);
        }}
      />
      <Records standing={standing} busy={busy} ask={ask} choice={choice} choose={choose} move={move} />
    </div>
  );
}
