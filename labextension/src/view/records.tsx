/** The records at the operator where a trace stands, a page at a time, and the moves that lead on from them. */
import { useState } from 'preact/hooks';
import type { Ask, Move, Page, Standing } from '../tracing';
import { nameOf } from './crumbs';
import { Export } from './exporting';
import { Wrong } from './frame';
import { Turning } from './pages';
import { RecordTable } from './recordtable';
import { useAnswer } from './useanswer';
import { Waiting } from './waiting';
import { counted, number } from './words';

/** Records of one of the operators where a trace stands; of none, all that it names. */
export interface Choice {
  readonly operator: number;
  readonly numbers: ReadonlySet<number>;
}

export interface RecordsProps {
  readonly standing: Standing;
  readonly busy: boolean;
  readonly ask: Ask;
  readonly choice: Choice;
  readonly choose: (choice: Choice) => void;
  readonly move: (choice: Choice, move: Move) => void;
}

const PAGE = 50;

export function Records(props: RecordsProps) {
  const { standing, choice, choose } = props;
  const here = standing.crumbs[standing.at]?.operators ?? [];
  return (
    <section class="bd-look" aria-label="Records">
      {here.length > 1 && (
        <div class="bd-tabs" role="group" aria-label="Operators where the trace stands">
          {here.map(id => (
            <button
              key={id}
              type="button"
              aria-pressed={id === choice.operator}
              onClick={() => {
                choose({ operator: id, numbers: new Set() });
              }}
            >
              <bdi>{nameOf(id, standing)}</bdi>
            </button>
          ))}
        </div>
      )}
      <Look key={choice.operator} {...props} />
    </section>
  );
}

function Look({ standing, busy, ask, choice, choose, move }: RecordsProps) {
  const [start, setStart] = useState(0);
  const { at } = standing;
  const { operator, numbers: chosen } = choice;
  const page = useAnswer(() => ask('page', { at, operator, start }), [start]);
  return (
    <>
      <Moves
        standing={standing}
        busy={busy}
        chosen={chosen.size}
        go={how => {
          move(choice, how);
        }}
      />
      <p class="bd-count">
        <bdi>{nameOf(operator, standing)}</bdi>
        {page.is === 'answered' && ': '}
        {page.is === 'answered' && <Total page={page.answer} ask={ask} />}
        {chosen.size > 0 && `, ${number(chosen.size)} chosen`}
      </p>
      {page.is === 'refused' && (
        <>
          <Wrong why={page.why} again={page.again} />
          {start > 0 && <Pages start={start} more={false} last={undefined} turn={setStart} />}
        </>
      )}
      {page.is === 'waiting' && <Waiting what="Reading records…" />}
      {page.is === 'answered' && (
        <>
          <div class="bd-scroll" aria-busy={page.answer.start !== start} tabIndex={-1}>
            <RecordTable
              page={page.answer}
              chosen={chosen}
              choose={numbers => {
                choose({ operator, numbers });
              }}
              step={(record, how) => {
                move({ operator, numbers: new Set([record]) }, how);
              }}
            />
          </div>
          <p class="bd-keys">
            <kbd>↑</kbd> <kbd>↓</kbd> go from record to record, <kbd>Space</kbd> chooses, <kbd>Enter</kbd> steps back,{' '}
            <kbd>Shift</kbd>+<kbd>Enter</kbd> ahead.
          </p>
          <Pages start={start} more={page.answer.more} last={page.answer.numbers.at(-1)} turn={setStart} />
          <Export ask={ask} at={at} operator={operator} busy={busy} />
          {page.answer.beyond && (
            <p class="bd-note">
              Others follow, and only the first {number((page.answer.numbers.at(-1) ?? start - 1) + 1)} are listed here.
              In Python, <code>view.frame()</code> has all of them, and <code>view.trace.where(…)</code> finds some.
            </p>
          )}
        </>
      )}
    </>
  );
}

/** How many records there are: of more than a page it takes a question, and maybe a job. */
function Total({ page, ask }: { page: Page; ask: Ask }) {
  const { at, operator } = page;
  const all = page.start === 0 && !page.more;
  const total = useAnswer(async () => (all ? page.rows.length : (await ask('count', { at, operator })).count), []);
  switch (total.is) {
    case 'waiting':
      return <>counting…</>;
    case 'refused':
      return <span title={`${total.why.what} ${total.why.remedy}`}>not counted</span>;
    case 'answered':
      return <>{counted(total.answer, 'record')}</>;
  }
}

interface MovesProps {
  readonly standing: Standing;
  readonly busy: boolean;
  readonly chosen: number;
  readonly go: (how: Move) => void;
}

function Moves({ standing, busy, chosen, go }: MovesProps) {
  const from = chosen === 0 ? 'all records' : counted(chosen, 'chosen record');
  const button = (how: Move, label: string, title: string, possible: boolean) => (
    <button
      type="button"
      disabled={busy || !possible}
      title={`${title} ${from}`}
      onClick={() => {
        go(how);
      }}
    >
      {label}
    </button>
  );
  const back = standing.back.length > 0;
  const ahead = standing.ahead.length > 0;
  return (
    <div class="bd-moves" role="group" aria-label={`Go on from ${from}`}>
      {button('sources', '⇤ Sources', 'All source records of', back)}
      {button('back', '← Step back', 'One step back from', back)}
      {button('ahead', 'Step ahead →', 'One step ahead from', ahead)}
      {button('outputs', 'Outputs ⇥', 'All outputs of', ahead)}
      {button('keep', 'Keep chosen', 'Narrow the trace to', chosen > 0)}
      <span class="bd-from">{`from ${from}`}</span>
    </div>
  );
}

interface PagesProps {
  readonly start: number;
  readonly more: boolean;
  readonly last: number | undefined;
  readonly turn: (start: number) => void;
}

function Pages({ start, more, last, turn }: PagesProps) {
  if (start === 0 && !more) {
    return last === undefined ? <p class="bd-count">No record is here.</p> : null;
  }
  return (
    <div class="bd-pages" role="group" aria-label="Pages">
      <Turning start={start} size={PAGE} more={more} turn={turn}>
        <span>
          {last === undefined
            ? `from record ${number(start + 1)} on`
            : `records ${number(start + 1)} to ${number(last + 1)}`}
        </span>
      </Turning>
    </div>
  );
}
