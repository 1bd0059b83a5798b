/** The causes of crashes, the most frequent first: which one is looked at, and what was decided of each. */
import type { Cause, Place, Standing } from '../crashing';
import { counted, number } from './words';

export interface CausesProps {
  readonly standing: Standing;
  /** The cause that is looked at. */
  readonly chosen: number;
  readonly choose: (place: Place) => void;
}

export function Causes({ standing, chosen, choose }: CausesProps) {
  return (
    <nav class="bd-causes" aria-label="Causes">
      <ol>
        {standing.causes.map(cause => (
          <li key={cause.cause}>
            <button
              type="button"
              aria-current={cause.cause === chosen ? 'true' : undefined}
              onClick={() => {
                if (cause.cause !== chosen) {
                  choose({ number: cause.first, cause: cause.cause, at: 0 });
                }
              }}
            >
              <Told cause={cause} />
            </button>
          </li>
        ))}
      </ol>
      {standing.left > 0 && <p class="bd-note">{`and ${counted(standing.left, 'more cause')}`}</p>}
    </nav>
  );
}

function Told({ cause }: { cause: Cause }) {
  return (
    <>
      <span class="bd-number">{number(cause.culprits)}</span>
      <span class="bd-exception">
        <bdi>{cause.exception}</bdi>
      </span>
      <span class="bd-message">
        <bdi>{cause.message}</bdi>
      </span>
      <span class="bd-site">
        <bdi>{cause.operator}</bdi>
      </span>
      <span class="bd-decided">{decided(cause)}</span>
    </>
  );
}

/** What was decided, in words; of nothing, nothing. */
export function decided({ skipped, repaired, fixed, open }: Cause): string {
  const parts: [number, string][] = [
    [skipped, 'skipped'],
    [repaired, 'repaired'],
    [fixed, 'fixed']
  ];
  const said = parts.filter(([count]) => count > 0).map(([count, what]) => `${number(count)} ${what}`);
  return said.length === 0 ? '' : [...said, ...(open > 0 ? [`${number(open)} open`] : [])].join(' · ');
}
