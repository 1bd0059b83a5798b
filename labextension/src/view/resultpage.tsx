/** What a resumed action gives, a page at a time. */
import { useState } from 'preact/hooks';
import type { Ask } from '../crashing';
import { Wrong } from './frame';
import { Turning } from './pages';
import { RowTable } from './rowtable';
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
    return <Wrong why={page.why} again={page.again} />;
  }
  const { columns, rows, left, total } = page.answer;
  return (
    <>
      <RowTable label="Result" busy={page.answer.start !== start} columns={columns} left={left} rows={rows} />
      <div class="bd-pages">
        {total !== null && total > PAGE && (
          <Turning start={start} size={PAGE} more={start + PAGE < total} turn={setStart} />
        )}
        <span class="bd-from">
          {total !== null && `${counted(total, 'row')}. `}
          In Python, <code>view.resumed.result</code> has it, where <code>view</code> is what bigdebug.view gave.
        </span>
      </div>
    </>
  );
}
