/** The records of the input behind what is brushed, a page at a time: read when somebody asks, for that takes a job. */
import { useState } from 'preact/hooks';
import type { Ask } from '../brushing';
import { Wrong } from './frame';
import { Turning } from './pages';
import { RowTable } from './rowtable';
import { useAnswer } from './useanswer';
import { Late } from './waiting';
import { counted, number } from './words';

export interface BrushedRowsProps {
  readonly ask: Ask;
  /** Counts what was changed in the view: the records are those of one brush. */
  readonly change: number;
}

const PAGE = 50;

export function BrushedRows({ ask, change }: BrushedRowsProps) {
  const [wanted, want] = useState<number | null>(null);
  return (
    <section class="bd-behind" aria-label="Rows behind the brush">
      {wanted === change ? (
        <Found key={change} ask={ask} />
      ) : (
        <button
          type="button"
          onClick={() => {
            want(change);
          }}
        >
          Show the rows behind the brush
        </button>
      )}
    </section>
  );
}

function Found({ ask }: { ask: Ask }) {
  const [start, setStart] = useState(0);
  const page = useAnswer(() => ask('rows', { start }), [start]);
  if (page.is === 'waiting') {
    return (
      <p class="bd-busy" role="status">
        Reading the rows behind the brush… <Late />
      </p>
    );
  }
  if (page.is === 'refused') {
    return <Wrong why={page.why} again={page.again} />;
  }
  const { input, total, columns, left, names, rows, more, beyond } = page.answer;
  return (
    <>
      <p class="bd-count">
        {`${counted(total, 'row')} of `}
        <bdi>{input}</bdi>
        {total === 1 ? ' is' : ' are'} behind the brush. In Python, <code>view.trace()</code> leads on from them, and{' '}
        <code>view.trace().toPandas()</code> has them, where <code>view</code> is what bigdebug.brush gave.
      </p>
      {rows.length > 0 && (
        <RowTable
          label="Rows behind the brush"
          busy={page.answer.start !== start}
          columns={columns}
          left={left}
          rows={rows}
          names={names}
        />
      )}
      {(start > 0 || more) && (
        <div class="bd-pages" role="group" aria-label="Pages">
          <Turning start={start} size={PAGE} more={more} turn={setStart}>
            <span>{`rows ${number(start + 1)} to ${number(start + rows.length)}`}</span>
          </Turning>
        </div>
      )}
      {beyond && <p class="bd-note">{`Only the first ${number(start + rows.length)} are listed here.`}</p>}
    </>
  );
}
