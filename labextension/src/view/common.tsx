/** What several culprits have in common: asked for by a button, for reading it may take a job. */
import { useState } from 'preact/hooks';
import type { Ask } from '../crashing';
import { Wrong } from './frame';
import { useAnswer } from './useanswer';
import { Value } from './value';
import { Late } from './waiting';
import { counted, number } from './words';

export interface CommonProps {
  readonly ask: Ask;
  /** How many are known. */
  readonly known: number;
}

export function Common({ ask, known }: CommonProps) {
  const [wanted, want] = useState(false);
  if (known < 2) {
    return null;
  }
  return (
    <section class="bd-common" aria-label="In common">
      {wanted ? (
        <Found ask={ask} known={known} />
      ) : (
        <div class="bd-moves">
          <button
            type="button"
            onClick={() => {
              want(true);
            }}
          >
            What do they have in common?
          </button>
        </div>
      )}
    </section>
  );
}

function Found({ ask, known }: CommonProps) {
  const found = useAnswer(() => ask('common', {}), [known]);
  switch (found.is) {
    case 'waiting':
      return (
        <p class="bd-busy">
          Comparing their sources… <Late />
        </p>
      );
    case 'refused':
      return <Wrong why={found.why} again={found.again} />;
    case 'answered': {
      const { records, met, looked } = found.answer;
      const some = looked < found.answer.known ? ` of the first ${number(looked)}` : '';
      if (records.length === 0 && met.length === 0) {
        return <p class="bd-busy">{`No record of the input is known to be behind several of them${some}.`}</p>;
      }
      return (
        <>
          <h4>In common</h4>
          <ul class="bd-sources">
            {records.map((record, at) => (
              <li key={at}>
                <span>{`behind ${number(record.culprits)}${some}: `}</span>
                <span class="bd-origin">
                  <Value text={record.origin} />
                </span>
                <div class="bd-value">
                  <Value text={record.record} />
                </div>
              </li>
            ))}
            {met.map((each, at) => (
              <li key={at}>
                <span>{`${counted(each.culprits, 'culprit')}${some} met the same:`}</span>
                <div class="bd-value">
                  <Value text={each.what} />
                </div>
              </li>
            ))}
          </ul>
        </>
      );
    }
  }
}
