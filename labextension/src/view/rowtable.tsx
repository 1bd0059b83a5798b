/** A page of rows as a table, with where each is from if that is known. */
import { Cells, Columns } from './cells';
import { Value } from './value';

export interface RowTableProps {
  readonly label: string;
  /** Whether another page is on its way. */
  readonly busy: boolean;
  readonly columns: readonly string[];
  /** How many columns were left out. */
  readonly left: number;
  readonly rows: readonly (readonly string[])[];
  readonly names?: readonly string[] | null;
}

export function RowTable({ label, busy, columns, left, rows, names = null }: RowTableProps) {
  return (
    <div class="bd-scroll" aria-busy={busy} tabIndex={-1}>
      <table class="bd-records" aria-label={label}>
        <thead>
          <tr>
            {names !== null && <th scope="col">origin</th>}
            <Columns names={columns} left={left} />
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {names !== null && (
                <td class="bd-origin">
                  <Value text={names[at] ?? ''} />
                </td>
              )}
              <Cells row={row} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
