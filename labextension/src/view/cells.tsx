/** The texts of a row, each in a cell of its own, and the names of the columns. Written in the direction of each. */
import type { ComponentChildren } from 'preact';
import { Value } from './value';
import { counted } from './words';

export function Cells({ row }: { row: readonly string[] }) {
  return (
    <>
      {row.map((cell, column) => (
        <td key={column}>
          <div class="bd-value">
            <Value text={cell} />
          </div>
        </td>
      ))}
    </>
  );
}

/** The columns' names, and how many columns were left out. */
export function Columns({ names, left }: { names: readonly string[]; left: number }): ComponentChildren {
  return (
    <>
      {names.map((name, at) => (
        <th key={at} scope="col">
          <bdi>{name}</bdi>
        </th>
      ))}
      {left > 0 && <th scope="col">{`and ${counted(left, 'column')} more`}</th>}
    </>
  );
}
