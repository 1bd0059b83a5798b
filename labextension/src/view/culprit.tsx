/** One culprit: its record field by field, where that came from, the line that crashed, and what is to become of it. */
import { useState } from 'preact/hooks';
import type { Ask, Culprit as Known, Standing } from '../crashing';
import type { During } from './useduring';
import { Fix } from './fix';
import { Wrong } from './frame';
import { RecordFields, RepairForm } from './recordfields';
import { useAnswer } from './useanswer';
import { Value } from './value';
import { Late, Waiting } from './waiting';
import { counted } from './words';

export interface CulpritProps {
  readonly number: number;
  readonly standing: Standing;
  readonly ask: Ask;
  readonly busy: boolean;
  readonly during: During;
}

export function Culprit({ number, standing, ask, busy, during }: CulpritProps) {
  const asked = useAnswer(() => ask('culprit', { number }), [number, standing.said, standing.complete]);
  switch (asked.is) {
    case 'waiting':
      return <Waiting what="Asking the kernel…" />;
    case 'refused':
      return <Wrong why={asked.why} again={asked.again} />;
    case 'answered':
      return (
        // What was shown stays until the next is there; what was opened in it does not.
        <article key={asked.answer.number} class="bd-culprit" aria-busy={asked.answer.number !== number}>
          <Exception known={asked.answer} />
          <Line known={asked.answer} />
          <Record known={asked.answer} ask={ask} busy={busy} during={during} />
          <Sources key={String(asked.answer.settled)} known={asked.answer} ask={ask} />
          <Traceback known={asked.answer} />
          <Fix known={asked.answer} ask={ask} busy={busy} during={during} />
        </article>
      );
  }
}

function Exception({ known }: { known: Known }) {
  return (
    <p class="bd-told">
      <span class="bd-exception">
        <bdi>{known.exception}</bdi>
      </span>
      {known.message.map((line, at) => (
        <span key={at} class="bd-message">
          <bdi>{line}</bdi>
        </span>
      ))}
      <span class="bd-facts">
        {'in '}
        <bdi>{known.operator}</bdi>
        {known.partition !== null && `, partition ${known.partition}`}
        {known.again && ', on a record that came in the place of one that had crashed'}
        {known.met !== null && (
          <>
            {', as it met '}
            <Value text={known.met} />
          </>
        )}
      </span>
    </p>
  );
}

function Line({ known: { line, locals } }: { known: Known }) {
  if (line === null) {
    return null;
  }
  return (
    <section aria-label="Line">
      <h4>
        {line.inside ? 'Crashed at ' : 'Defined at '}
        <bdi>{line.place}</bdi>
      </h4>
      {line.code !== null && (
        <pre class="bd-code">
          <bdi dir="ltr">{line.code}</bdi>
        </pre>
      )}
      {locals.length > 0 && (
        <table class="bd-locals" aria-label="Local variables">
          <tbody>
            {locals.map(([name, value], at) => (
              <tr key={at}>
                <th scope="row">
                  <bdi>{name}</bdi>
                </th>
                <td>
                  <div class="bd-value">
                    <Value text={value} />
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

interface RecordProps {
  readonly known: Known;
  readonly ask: Ask;
  readonly busy: boolean;
  readonly during: During;
}

function Record({ known, ask, busy, during }: RecordProps) {
  const [editing, edit] = useState(false);
  const { number, decided } = known;
  const skipped = decided === 'skip';
  const editable = known.fields.some(field => field.text !== null);
  if (editing) {
    return (
      <section aria-label="Record">
        <h4>Repair the record</h4>
        <RepairForm
          known={known}
          busy={busy}
          cancel={() => {
            edit(false);
          }}
          put={edits => {
            const asked = edits.length === 0 ? ask('restore', { number }) : ask('repair', { number, edits });
            void during(asked).then(done => {
              edit(!done);
            });
          }}
        />
      </section>
    );
  }
  return (
    <section aria-label="Record">
      <h4>
        {decided === 'repair' ? 'The record, repaired' : 'The record'}
        <span class="bd-facts">
          {' '}
          <bdi>{known.type}</bdi>
          {known.whole ? '' : `, ${counted(known.fields.length + known.left, 'field')}`}
        </span>
      </h4>
      <RecordFields known={known} />
      <div class="bd-moves">
        <button
          type="button"
          aria-pressed={skipped}
          disabled={busy}
          onClick={() => {
            void during(ask('skip', { of: 'culprit', at: number, on: !skipped }));
          }}
        >
          Skip this one
        </button>
        <button
          type="button"
          disabled={busy || !editable}
          title={editable ? undefined : 'Nothing of it is edited as text: run.resume(repair={culprit: record})'}
          onClick={() => {
            edit(true);
          }}
        >
          {decided === 'repair' ? 'Repair it otherwise…' : 'Repair it…'}
        </button>
        {decided === 'repair' && (
          <button
            type="button"
            disabled={busy}
            onClick={() => {
              void during(ask('restore', { number }));
            }}
          >
            Take the repair back
          </button>
        )}
      </div>
    </section>
  );
}

/** The source records: they are asked for at once where that makes nobody wait for a whole partition. */
function Sources({ known, ask }: { known: Known; ask: Ask }) {
  const [wanted, want] = useState(known.settled);
  return (
    <section aria-label="Sources">
      <h4>Came from</h4>
      {wanted ? (
        <Found number={known.number} ask={ask} />
      ) : (
        <div class="bd-more">
          <span>That is known when its partition has been looked at.</span>
          <button
            type="button"
            onClick={() => {
              want(true);
            }}
          >
            Wait for it
          </button>
        </div>
      )}
    </section>
  );
}

function Found({ number, ask }: { number: number; ask: Ask }) {
  const found = useAnswer(() => ask('sources', { number }), [number]);
  switch (found.is) {
    case 'waiting':
      return (
        <p class="bd-busy">
          Reading its source records… <Late />
        </p>
      );
    case 'refused':
      return <Wrong why={found.why} again={found.again} />;
    case 'answered':
      return found.answer.total === 0 ? (
        <p class="bd-busy">No source record is known.</p>
      ) : (
        <>
          <ul class="bd-sources">
            {found.answer.records.map((source, at) => (
              <li key={at}>
                <span class="bd-origin">
                  <Value text={source.origin} />
                </span>
                <div class="bd-value">
                  <Value text={source.record} />
                </div>
              </li>
            ))}
          </ul>
          {found.answer.total > found.answer.records.length && (
            <p class="bd-busy">{`and ${counted(found.answer.total - found.answer.records.length, 'more record')}`}</p>
          )}
        </>
      );
  }
}

function Traceback({ known: { traceback } }: { known: Known }) {
  return traceback.length === 0 ? null : (
    <details>
      <summary>Traceback</summary>
      <pre class="bd-code">
        <bdi dir="ltr">{traceback.join('\n')}</bdi>
      </pre>
    </details>
  );
}
