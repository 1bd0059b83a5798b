/** What a run consists of, and what crashed in it: two lists, for a panel is narrow. */
import type { Cause, Operator } from '../payload';
import { counted } from './words';

export function Operators({ operators }: { operators: readonly Operator[] }) {
  return (
    <section>
      <h3>{counted(operators.length, 'operator')}</h3>
      <ol class="bd-operators">
        {operators.map(operator => (
          <li key={operator.id}>
            <Text class="bd-what" text={operator.name} />
            <span class="bd-facts"> {operator.kind}</span>
            {operator.records !== null && <span class="bd-facts">{` · ${counted(operator.records, 'record')}`}</span>}
            {operator.dataset !== null && operator.dataset !== operator.name && (
              <span class="bd-facts">
                {' · '}
                <Text text={operator.dataset} />
              </span>
            )}
            {operator.line !== null && <Text class="bd-line" text={operator.line} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Causes({ causes }: { causes: readonly Cause[] }) {
  if (causes.length === 0) {
    return null;
  }
  return (
    <section>
      <h3>{causes.length === 1 ? '1 cause of crashes' : `${causes.length} causes of crashes`}</h3>
      <ol class="bd-causes">
        {causes.map((cause, at) => (
          <li key={at}>
            <span class="bd-culprits">{`${counted(cause.culprits, 'culprit')}: `}</span>
            <Text class="bd-what" text={cause.exception} />
            <span class="bd-facts">
              in <Text text={cause.operator} />
            </span>
            {cause.line !== null && !cause.operator.endsWith(cause.line) && <Text class="bd-line" text={cause.line} />}
            <span class="bd-facts">
              {cause.culprits === 1 ? 'on ' : 'the first on '}
              <Text class="bd-record" text={cause.record} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The user's text, in its own direction: what is written from right to left turns nothing around it. */
function Text({ text, ...more }: { text: string; class?: string }) {
  return <bdi {...more}>{text}</bdi>;
}
