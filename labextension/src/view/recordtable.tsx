/** A page of records, of which some can be chosen: with the mouse, or with the arrow keys and the space bar. */
import type { Page } from '../tracing';
import { neighbour } from './arrows';
import { Cells, Columns } from './cells';
import { Value } from './value';

export interface RecordTableProps {
  readonly page: Page;
  readonly chosen: ReadonlySet<number>;
  readonly choose: (numbers: ReadonlySet<number>) => void;
  /** Go back, or ahead, from one record. */
  readonly step: (number: number, move: 'back' | 'ahead') => void;
}

export function RecordTable({ page, chosen, choose, step }: RecordTableProps) {
  const all = page.numbers.length > 0 && page.numbers.every(number => chosen.has(number));
  const toggle = (numbers: readonly number[], on: boolean): void => {
    const now = new Set(chosen);
    numbers.forEach(number => (on ? now.add(number) : now.delete(number)));
    choose(now);
  };
  return (
    <table class="bd-records" onKeyDown={onArrow}>
      <thead>
        <tr>
          <th scope="col">
            <input
              type="checkbox"
              aria-label="Choose all records of this page"
              checked={all}
              onChange={() => {
                toggle(page.numbers, !all);
              }}
            />
          </th>
          {page.names !== null && <th scope="col">{page.origins ? 'origin' : 'rid'}</th>}
          <Columns names={page.columns} left={page.left} />
        </tr>
      </thead>
      <tbody>
        {page.rows.map((row, at) => {
          const number = page.numbers[at] ?? 0;
          const on = chosen.has(number);
          return (
            <tr
              key={at}
              class={on ? 'bd-chosen' : ''}
              onClick={event => {
                // A text that is selected is being copied.
                if (!(event.target instanceof HTMLInputElement) && document.getSelection()?.isCollapsed !== false) {
                  toggle([number], !on);
                }
              }}
            >
              <td>
                <input
                  type="checkbox"
                  aria-label={`Choose record ${number + 1}`}
                  checked={on}
                  onChange={() => {
                    toggle([number], !on);
                  }}
                  onKeyDown={event => {
                    if (event.key === 'Enter') {
                      event.preventDefault();
                      step(number, event.shiftKey ? 'ahead' : 'back');
                    }
                  }}
                />
              </td>
              {page.names !== null && (
                <td class={page.origins ? 'bd-origin' : 'bd-rid'}>
                  <Value text={page.names[at] ?? ''} />
                </td>
              )}
              <Cells row={row} />
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Up and down go from box to box. */
function onArrow(event: KeyboardEvent): void {
  const next = neighbour(event, HTMLInputElement, 'input');
  if (next !== undefined) {
    event.preventDefault();
    next.focus();
  }
}
