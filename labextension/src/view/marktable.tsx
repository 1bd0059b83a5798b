/** Marks as a table: a page at a time, in the order of any column, brushed by their boxes or rows. */
import { useRef, useState } from 'preact/hooks';
import { on } from '../charts/picture';
import type { Page } from '../brushing';
import type { ChartProps } from './chartcard';
import { Cells } from './cells';
import { Wrong } from './frame';
import { Turning } from './pages';
import { useAnswer } from './useanswer';
import { Waiting } from './waiting';
import { number } from './words';

interface Sort {
  readonly column: number;
  readonly descending: boolean;
}

const ROWS = 50;

export function MarkTable({ view, drawn, ask, change, brush }: ChartProps) {
  const [start, setStart] = useState(0);
  const [sort, setSort] = useState<Sort | null>(null);
  const asked = useAnswer(
    () => ask('page', { view, start, ...(sort === null ? {} : { sort: sort.column, descending: sort.descending }) }),
    [view, start, sort, change]
  );
  const { columns, left } = drawn.chart;
  const order = (column: number): void => {
    // Numbers are looked at from the largest; a third click gives the order of the result back.
    setSort(
      sort?.column !== column ? { column, descending: true } : sort.descending ? { column, descending: false } : null
    );
    setStart(0);
  };
  if (asked.is !== 'answered') {
    return asked.is === 'refused' ? (
      <Wrong why={asked.why} again={asked.again} />
    ) : (
      <Waiting what="Asking the kernel…" />
    );
  }
  const page = asked.answer;
  return (
    <>
      <div class="bd-scroll">
        <table class="bd-records">
          <thead>
            <tr>
              <th scope="col" aria-label="Brushed" />
              {columns.map((column, at) => (
                <th
                  key={at}
                  scope="col"
                  aria-sort={sort?.column === at ? (sort.descending ? 'descending' : 'ascending') : 'none'}
                >
                  <button
                    type="button"
                    class="bd-sort"
                    onClick={() => {
                      order(at);
                    }}
                  >
                    <bdi>{column}</bdi>
                    <span aria-hidden="true">{sort?.column === at ? (sort.descending ? ' ↓' : ' ↑') : ''}</span>
                  </button>
                </th>
              ))}
              {left > 0 && <th scope="col">{`and ${number(left)} columns more`}</th>}
            </tr>
          </thead>
          <Rows
            key={`${start} ${orderOf(sort)}`}
            page={page}
            brushed={drawn.brushed}
            lit={drawn.lit}
            marks={drawn.chart.marks}
            brush={brush}
          />
        </table>
      </div>
      {page.total > ROWS && (
        <div class="bd-pages">
          <Turning
            start={start}
            size={ROWS}
            more={start + ROWS < page.total}
            words={['Previous', 'Next']}
            turn={setStart}
          >
            <span>{`${number(page.start + 1)} to ${number(page.start + page.rows.length)} of ${number(page.total)}`}</span>
          </Turning>
        </div>
      )}
    </>
  );
}

const orderOf = (sort: Sort | null): string =>
  sort === null ? '' : `${sort.column} ${sort.descending ? 'down' : 'up'}`;

interface RowsProps {
  readonly page: Page;
  readonly brushed: Uint8Array | null;
  readonly lit: Uint8Array | null;
  readonly marks: number;
  readonly brush: (flags: Uint8Array | null) => void;
}

function Rows({ page, brushed, lit, marks, brush }: RowsProps) {
  const last = useRef<number | null>(null);
  /** From the row of this page that was brushed last to this one, if so asked; else this one alone changes. */
  const toggle = (row: number, through: boolean): void => {
    const flags = brushed === null ? new Uint8Array(marks) : brushed.slice();
    const flag = flags[page.numbers[row] ?? 0] === 1 ? 0 : 1;
    const before = through ? (last.current ?? row) : row;
    const [from, to] = [Math.min(row, before), Math.max(row, before)];
    for (let at = from; at <= to; at += 1) {
      flags[page.numbers[at] ?? 0] = flag;
    }
    last.current = row;
    brush(flags);
  };
  return (
    <tbody onKeyDown={onKey}>
      {page.rows.map((row, at) => {
        const mark = page.numbers[at] ?? 0;
        const chosen = brushed?.[mark] === 1;
        return (
          <tr
            key={mark}
            class={[chosen ? 'bd-chosen' : '', on(lit, mark) ? '' : 'bd-unlit'].join(' ')}
            onClick={event => {
              // A text that is selected is being copied.
              if (!(event.target instanceof HTMLInputElement) && document.getSelection()?.isCollapsed !== false) {
                toggle(at, event.shiftKey);
              }
            }}
          >
            <td>
              <input
                type="checkbox"
                aria-label={`Brush mark ${mark + 1}`}
                checked={chosen}
                onClick={event => {
                  toggle(at, event.shiftKey);
                }}
              />
            </td>
            <Cells row={row} />
          </tr>
        );
      })}
    </tbody>
  );

  /** Up and down go from box to box, Escape clears. */
  function onKey(event: KeyboardEvent): void {
    if (event.key === 'Escape') {
      brush(null);
      return;
    }
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (by !== 0 && event.currentTarget instanceof HTMLElement && event.target instanceof HTMLInputElement) {
      const boxes = [...event.currentTarget.querySelectorAll('input')];
      event.preventDefault();
      boxes[boxes.indexOf(event.target) + by]?.focus();
    }
  }
}
