/** The trace view: the operators of a run, the way of a trace over them, and the records where it stands. */
import { useState } from 'preact/hooks';
import { refusal, type Refused } from '../payload';
import type { Ask, Move, Standing } from '../tracing';
import { Crumbs } from './crumbs';
import { Frame, Wrong, WrongView } from './frame';
import { OperatorGraph } from './operatorgraph';
import { Records, type Choice } from './records';
import { useAnswer } from './useanswer';
import { Late, Waiting } from './waiting';

export interface TraceViewProps {
  readonly ask: Ask;
  /** Where the view stands since it was last moved; null if it was not. */
  readonly moved: Standing | null;
}

export function TraceView({ ask, moved }: TraceViewProps) {
  const [tries, setTries] = useState(0);
  const first = useAnswer(() => ask('trace', {}), [tries]);
  if (first.is === 'refused' && moved === null) {
    const again = (): void => {
      setTries(tries + 1);
    };
    return <WrongView kind="trace" why={first.why} again={again} />;
  }
  const known = first.is === 'answered' ? first.answer : null;
  const standing = moved !== null && moved.change >= (known?.change ?? 0) ? moved : known;
  return (
    <Frame kind="trace">
      {standing === null ? <Waiting what="Asking the kernel…" /> : <Standpoint ask={ask} standing={standing} />}
    </Frame>
  );
}

function Standpoint({ ask, standing }: { ask: Ask; standing: Standing }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Refused | null>(null);
  const during = (asked: Promise<unknown>): void => {
    setBusy(true);
    setProblem(null);
    asked
      .catch((why: unknown) => {
        setProblem(refusal(why));
      })
      .finally(() => {
        setBusy(false);
      });
  };
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
          during(ask('crumb', { at: to }));
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
  readonly during: (asked: Promise<unknown>) => void;
}

/** Where the trace stands: the operators and the records, of which some are chosen. */
function Place({ standing, busy, ask, during }: PlaceProps) {
  const { at } = standing;
  const [choice, choose] = useState<Choice>({
    operator: standing.crumbs[at]?.operators[0] ?? 0,
    numbers: new Set()
  });
  const move = ({ operator, numbers }: Choice, how: Move, to?: number): void => {
    during(ask('move', { at, operator, numbers: [...numbers], move: how, ...(to === undefined ? {} : { to }) }));
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
