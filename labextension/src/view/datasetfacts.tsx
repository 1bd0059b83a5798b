/** A dataset: its columns, what each is made of and makes, and what was done to it and with it. */
import { useState } from 'preact/hooks';
import type { Ask, Dataset, Done, Reached, Traced } from '../feeding';
import { Wrong } from './frame';
import { Turning } from './pages';
import { useAnswer } from './useanswer';
import { useDuring } from './useduring';
import { Waiting } from './waiting';
import { day, number } from './words';

const HISTORY = 20;

export interface DatasetFactsProps {
  readonly ask: Ask;
  readonly dataset: number;
  /** The column that is followed, if one is. */
  readonly traced: Traced | null;
  readonly trace: (traced: Traced | null) => void;
  readonly busy: boolean;
  /** Show only what feeds it, and what it feeds. */
  readonly around: () => void;
}

export function DatasetFacts({ ask, dataset, traced, trace, busy, around }: DatasetFactsProps) {
  const [start, setStart] = useState(0);
  const asked = useAnswer(() => ask('dataset', { dataset, start }), [dataset, start]);
  const { busy: following, problem, during } = useDuring();
  if (asked.is !== 'answered') {
    return asked.is === 'refused' ? (
      <Wrong why={asked.why} again={asked.again} />
    ) : (
      <Waiting what="Asking the kernel…" />
    );
  }
  const known = asked.answer;
  const follow = (column: number): void => {
    void during(ask('column', { dataset, column }).then(trace));
  };
  return (
    <section class="bd-about" aria-label={`About ${known.short}`}>
      <header>
        <span class="bd-summary">
          <bdi>{known.name}</bdi>
        </span>
        <span class="bd-facts">{[known.kind, known.format].filter(fact => fact !== '').join(' · ')}</span>
        <button type="button" disabled={busy} onClick={around}>
          Only what feeds it and what it feeds
        </button>
      </header>
      <Columns known={known} traced={traced} follow={follow} busy={following} />
      {problem !== null && <Wrong why={problem} />}
      {traced !== null && (
        <Following
          traced={traced}
          stop={() => {
            trace(null);
          }}
        />
      )}
      <History known={known} turn={setStart} />
      {known.notes.map((note, at) => (
        <p key={at} class="bd-note">
          <bdi>{note}</bdi>
        </p>
      ))}
    </section>
  );
}

interface ColumnsProps {
  readonly known: Dataset;
  readonly traced: Traced | null;
  readonly follow: (column: number) => void;
  readonly busy: boolean;
}

function Columns({ known, traced, follow, busy }: ColumnsProps) {
  if (known.columns.length === 0) {
    return <p class="bd-note">Its columns are not known.</p>;
  }
  return (
    <div class="bd-scroll">
      <table class="bd-records">
        <thead>
          <tr>
            <th scope="col">column</th>
            <th scope="col">type</th>
            <th scope="col">made of</th>
          </tr>
        </thead>
        <tbody>
          {known.columns.map((column, at) => (
            <tr key={at} class={traced?.column === column.name ? 'bd-chosen' : ''}>
              <td>
                <button
                  type="button"
                  disabled={busy}
                  title="what it is made of, and what is made of it"
                  onClick={() => {
                    follow(at);
                  }}
                >
                  <bdi>{column.name}</bdi>
                </button>
              </td>
              <td>
                <div class="bd-value">
                  <bdi>{column.type}</bdi>
                </div>
              </td>
              <td>
                {column.made.map((made, place) => (
                  <div key={place}>
                    <bdi>{made}</bdi>
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {known.left > 0 && <p class="bd-note">{`${number(known.left)} more columns are left out.`}</p>}
    </div>
  );
}

function Following({ traced, stop }: { traced: Traced; stop: () => void }) {
  return (
    <div class="bd-following">
      <p class="bd-what">
        <bdi>{traced.column}</bdi>{' '}
        <button type="button" onClick={stop}>
          Follow no column
        </button>
      </p>
      <div class="bd-halves">
        <Side what="It is made of" none="It is made of no column that is known." rows={traced.up} />
        <Side what="It goes into" none="Nothing that is known is made of it." rows={traced.down} />
      </div>
      {traced.left > 0 && <p class="bd-note">{`${number(traced.left)} more columns are left out.`}</p>}
      {traced.notes.map((note, at) => (
        <p key={at} class="bd-note">
          <bdi>{note}</bdi>
        </p>
      ))}
    </div>
  );
}

function Side({ what, none, rows }: { what: string; none: string; rows: readonly Reached[] }) {
  return (
    <div>
      <p class="bd-count">{rows.length === 0 ? none : what}</p>
      <ul>
        {rows.map((row, at) => (
          <li key={at} class={row.influence === 'value' ? '' : 'bd-facts'}>
            <bdi>{row.column}</bdi>
            {' of '}
            <bdi>{row.dataset}</bdi>
            <span class="bd-facts">{` ${row.influence === 'decides' ? 'decides: ' : ''}${row.how}`}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function History({ known, turn }: { known: Dataset; turn: (start: number) => void }) {
  return (
    <>
      <div class="bd-scroll">
        <table class="bd-records">
          <thead>
            <tr>
              {['when', 'what', 'job', 'rows', 'schema', 'status', 'cell'].map(name => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {known.history.map((done, at) => (
              <Line key={at} done={done} />
            ))}
          </tbody>
        </table>
      </div>
      {(known.more || known.start > 0) && (
        <div class="bd-pages">
          <Turning start={known.start} size={HISTORY} more={known.more} turn={turn} />
        </div>
      )}
    </>
  );
}

function Line({ done }: { done: Done }) {
  return (
    <tr>
      <td>{day(done.when)}</td>
      <td>{done.what}</td>
      <td>
        <bdi>{done.job}</bdi>
      </td>
      <td>{done.rows}</td>
      <td>
        <bdi>{done.schema}</bdi>
      </td>
      <td class={done.status === 'failed' ? 'bd-failed' : ''}>
        {done.status}
        {done.error !== '' && (
          <div>
            <bdi>{done.error}</bdi>
          </div>
        )}
      </td>
      <td>
        <bdi>{done.cell}</bdi>
        {done.run !== '' && ` run ${done.run}`}
      </td>
    </tr>
  );
}
