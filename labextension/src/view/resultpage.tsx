/** What a resumed action gives, a page at a time. */
import { useState } from 'preact/hooks';
import type { Ask } from '../crashing';
import { Wrong } from './frame';
import { useAnswer } from './useanswer';
import { Waiting } from './waiting';
import { counted } from './words';

const PAGE = 50;

export function ResultPage({ run, ask }: { run: string; ask: Ask }) {
  const [start, setStart] = useState(0);
  const page = useAnswer(() => ask('result', { start }), [run, start]);
  if (page.is === 'waiting') {
    return <Waiting what="Reading the result…" />;
  }
  if (page.is === 'refused') {
    return <Wrong why={page.why} />;
  }
  const { columns, rows, left, total } = page.answer;
  return (
    <>
      <div class="bd-scroll" aria-busy={page.answer.start !== start} tabIndex={-1}>
        <table class="bd-records" aria-label="Result">
          <thead>
            <tr>
              {columns.map((column, at) => (
                <th key={at} scope="col">
                  <bdi>{column}</bdi>
                </th>
              ))}
              {left > 0 && <th scope="col">{`and ${counted(left, 'column')} more`}</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((cell, column) => (
                  <td key={column}>
                    <div class="bd-value">
                      <bdi>{cell}</bdi>
                    </div>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="bd-pages">
        {total !== null && total > PAGE && (
          <>
            <button
              type="button"
              disabled={start === 0}
              onClick={() => {
                setStart(Math.max(0, start - PAGE));
              }}
            >
              Earlier
            </button>
            <button
              type="button"
              disabled={start + PAGE >= total}
              onClick={() => {
                setStart(start + PAGE);
              }}
            >
              Later
            </button>
          </>
        )}
        <span class="bd-from">
          {total !== null && `${counted(total, 'row')}. `}
          In Python, <code>view.resumed.result</code> has it, where <code>view</code> is what bigdebug.view gave.
        </span>
      </div>
    </>
  );
}
