/** The replay view: what is different between two results, by the kind of change and by pages. */
import { useState } from 'preact/hooks';
import type { Ask, Kind, Page, Summary } from '../comparing';
import { ChangeTable, chosen, FEW } from './changetable';
import { Wrong } from './frame';
import { Pages } from './pages';
import { Stands } from './standing';
import { useAnswer } from './useanswer';
import { Waiting } from './waiting';
import { counted, number } from './words';

const ROWS = 20;

export function ComparisonView({ ask }: { ask: Ask }) {
  return (
    <Stands kind="comparison" look={() => ask('comparison', {})} told={null} turn={() => 0}>
      {summary => <Compared ask={ask} summary={summary} />}
    </Stands>
  );
}

function Compared({ ask, summary }: { ask: Ask; summary: Summary }) {
  const [kind, setKind] = useState<Kind>('all');
  const all = summary.changed + summary.added + summary.removed;
  return (
    <>
      <header>
        <span class="bd-summary">{all === 0 ? 'The results are the same' : counted(all, 'change')}</span>
        <span class="bd-facts">{`${counted(summary.kept, 'output')} the same`}</span>
      </header>
      {all > 0 && (
        <>
          <div class="bd-tabs" role="group" aria-label="Kinds of change">
            {(['all', 'changed', 'added', 'removed'] as const).map(each => (
              <button
                key={each}
                type="button"
                aria-pressed={each === kind}
                disabled={each !== 'all' && summary[each] === 0}
                onClick={() => {
                  setKind(each);
                }}
              >
                {`${each} ${number(each === 'all' ? all : summary[each])}`}
              </button>
            ))}
          </div>
          <Changes key={kind} ask={ask} kind={kind} />
        </>
      )}
      {summary.notes.map((note, at) => (
        <p key={at} class="bd-note">
          <bdi>{note}</bdi>
        </p>
      ))}
    </>
  );
}

function Changes({ ask, kind }: { ask: Ask; kind: Kind }) {
  const [start, setStart] = useState(0);
  const [all, showAll] = useState(false);
  const page = useAnswer(() => ask('page', { kind, start }), [start]);
  if (page.is === 'refused') {
    return <Wrong why={page.why} again={page.again} />;
  }
  if (page.is === 'waiting') {
    return <Waiting what="Reading changes…" />;
  }
  const fields = chosen(page.answer, all);
  return (
    <>
      <Width page={page.answer} fields={fields.length} all={all} show={showAll} />
      <div class="bd-scroll" aria-busy={page.answer.start !== start} tabIndex={-1}>
        <ChangeTable page={page.answer} fields={fields} />
      </div>
      <Pages start={start} size={ROWS} total={page.answer.total} what="changes" turn={setStart} />
    </>
  );
}

interface WidthProps {
  readonly page: Page;
  readonly fields: number;
  readonly all: boolean;
  readonly show: (all: boolean) => void;
}

/** Of wide records, how many fields are shown. */
function Width({ page, fields, all, show }: WidthProps) {
  if (page.columns.length <= FEW) {
    return null;
  }
  const every = page.columns.length + page.left;
  const left = page.left > 0 ? `, ${number(page.left)} more are left out` : '';
  return (
    <label class="bd-width">
      <input
        type="checkbox"
        checked={all}
        onChange={() => {
          show(!all);
        }}
      />
      {all
        ? ` all ${number(page.columns.length)} fields${left}`
        : ` all ${number(every)} fields: ${number(fields)} are shown, those that differ among them`}
    </label>
  );
}
