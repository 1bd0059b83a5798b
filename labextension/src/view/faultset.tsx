/** A fault set: its records, the outputs that it explains, what was seen, and what would do as well. */
import { useState } from 'preact/hooks';
import type { Ask, Diagnosis, Fault, FoundRecords } from '../diagnosing';
import { Wrong } from './frame';
import { Pages } from './pages';
import { useAnswer } from './useanswer';
import { Value } from './value';
import { counted, number } from './words';

const ROWS = 20;

export interface FaultSetProps {
  readonly ask: Ask;
  readonly fault: Fault;
  /** Its number among the fault sets, from 0, if there are several. */
  readonly at: number;
  readonly alone: boolean;
}

export function FaultSet({ ask, fault, at, alone }: FaultSetProps) {
  return (
    <section class="bd-fault" aria-label={`Fault set ${at + 1}`}>
      <h4>
        {!alone && `${at + 1}. `}
        {counted(fault.records.total, 'record')}
        {!alone && <Verdict verdict={fault.verdict} />}
      </h4>
      <FaultRecords ask={ask} fault={at} first={fault.records} />
      <p class="bd-outputs">
        <span class="bd-facts">
          {fault.explains === 1 ? 'wrong output: ' : `${number(fault.explains)} wrong outputs: `}
        </span>
        {fault.outputs.map((output, each) => (
          <Value key={each} text={output} />
        ))}
        {fault.explains > fault.outputs.length && (
          <span class="bd-facts">{`and ${number(fault.explains - fault.outputs.length)} more`}</span>
        )}
      </p>
      {fault.evidence.length > 0 && (
        <ul class="bd-evidence">
          {fault.evidence.map((line, each) => (
            <li key={each}>
              <Value text={line} />
            </li>
          ))}
        </ul>
      )}
      <Instead fault={fault} />
    </section>
  );
}

export function Verdict({ verdict }: { verdict: string }) {
  return <span class={`bd-verdict bd-is-${verdict}`}>{verdict}</span>;
}

/** The records, of which others than the first are asked for. */
function FaultRecords({ ask, fault, first }: { ask: Ask; fault: number; first: FoundRecords }) {
  const [start, setStart] = useState(0);
  const page = useAnswer(async () => (start === 0 ? first : await ask('records', { fault, start })), [start]);
  const shown = page.is === 'answered' ? page.answer : first;
  return (
    <>
      {page.is === 'refused' && <Wrong why={page.why} again={page.again} />}
      <div class="bd-scroll" aria-busy={shown.start !== start} tabIndex={-1}>
        <SourceTable columns={shown.columns} rows={shown.rows} />
      </div>
      <Pages start={start} size={ROWS} total={first.total} what="records" turn={setStart} />
    </>
  );
}

type Rows = FoundRecords['rows'];

/** Source records by their fields, with their origins and how far outputs move without them. */
export function SourceTable({ columns, rows }: { columns: readonly string[]; rows: Rows }) {
  const ranked = rows.some(row => row.moves !== null);
  return (
    <table class="bd-records">
      <thead>
        <tr>
          <th scope="col">origin</th>
          {ranked && (
            <th scope="col" title="How far the outputs move without the record; 1 is the farthest">
              moves
            </th>
          )}
          {columns.map((column, at) => (
            <th key={at} scope="col">
              <bdi>{column}</bdi>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            <td class="bd-origin">
              <Value text={row.origin} />
            </td>
            {ranked && <td class="bd-moves-by">{row.moves === null ? '' : <Moves by={row.moves} />}</td>}
            {row.cells.map((cell, column) => (
              <td key={column}>
                <div class="bd-value">
                  <Value text={cell} />
                </div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Moves({ by }: { by: number }) {
  return (
    <>
      <span class="bd-bar" style={{ width: `${Math.min(1, by) * 3}em` }} />
      {by.toFixed(2)}
    </>
  );
}

/** Sets that would do as well, by which the verdict is ambiguous. */
function Instead({ fault }: { fault: Fault }) {
  if (fault.others === 0) {
    return null;
  }
  const left = fault.others - fault.instead.length;
  return (
    <details class="bd-instead">
      <summary>{`${fault.others === 1 ? '1 other set' : `${number(fault.others)} other sets`} might be the cause instead`}</summary>
      <ul>
        {fault.instead.map((each, at) => (
          <li key={at}>
            {each.records.map((record, place) => (
              <span key={place} class="bd-named">
                <Value class="bd-record" text={record.record} /> <Value class="bd-facts" text={record.origin} />
              </span>
            ))}
            {each.total > each.records.length && (
              <span class="bd-facts">{`and ${counted(each.total - each.records.length, 'record')} more`}</span>
            )}
          </li>
        ))}
        {left > 0 && <li class="bd-facts">{`and ${number(left)} more sets: instead of the fault set has them all`}</li>}
      </ul>
    </details>
  );
}

/** The candidates most suspected, whether or not they are of a fault. */
export function Ranking({ ranking }: { ranking: Diagnosis['ranking'] }) {
  if (!ranking.rows.some(row => (row.moves ?? 0) > 0)) {
    return null; // of a search that was ended before, nobody knows
  }
  return (
    <details class="bd-ranking">
      <summary>
        {`Ranking: ${ranking.rows.length < ranking.total ? `the first ${number(ranking.rows.length)} of ` : ''}${counted(ranking.total, 'record')} by how far outputs move without them`}
      </summary>
      <div class="bd-scroll" tabIndex={-1}>
        <SourceTable columns={ranking.columns} rows={ranking.rows} />
      </div>
    </details>
  );
}
