/** The way that a trace took, and the way back. */
import type { Crumb, Standing } from '../tracing';
import { counted } from './words';

export interface CrumbsProps {
  readonly standing: Standing;
  readonly busy: boolean;
  readonly go: (at: number) => void;
}

export function Crumbs({ standing, busy, go }: CrumbsProps) {
  return (
    <nav class="bd-crumbs" aria-label="Way of the trace">
      <ol>
        {standing.crumbs.map((crumb, at) => (
          <li key={at}>
            <button
              type="button"
              aria-current={at === standing.at ? 'location' : undefined}
              disabled={busy}
              onClick={() => {
                if (at !== standing.at) {
                  go(at);
                }
              }}
            >
              {made(crumb, standing)}
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** How a place was come to, in words. */
export function made(crumb: Crumb, standing: Standing): string {
  const named = (ids: readonly number[]): string => ids.map(id => nameOf(id, standing)).join(', ');
  const there = named(crumb.operators);
  const records = crumb.chosen === null ? null : counted(crumb.chosen, 'record');
  const after = (joined: string): string => (records === null ? '' : ` ${joined} ${records}`);
  switch (crumb.move) {
    case 'start':
      return there;
    case 'keep':
      return `${records ?? 'all'} of ${there}`;
    case 'sources':
      return `sources${after('of')}: ${there}`;
    case 'outputs':
      return `outputs${after('of')}: ${there}`;
    default:
      return `${crumb.move}${after('from')}: ${there}`;
  }
}

/** The name of an operator, with its number where another one is called so as well. */
export function nameOf(id: number, standing: Standing): string {
  const operator = standing.operators.find(each => each.id === id);
  if (operator === undefined) {
    return `#${id}`;
  }
  const alike = standing.operators.filter(each => each.name === operator.name && each.dataset === operator.dataset);
  const named = operator.dataset === null || operator.dataset === operator.name;
  const label = named ? operator.name : `${operator.name} ${operator.dataset}`;
  return alike.length > 1 ? `${label}#${id}` : label;
}
