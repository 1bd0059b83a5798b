/** The operators of a run, sources first, with what was counted at each: where a trace stands, and where it can go. */
import type { Standing, TracedOperator } from '../tracing';
import { lanes, type Row } from './lanes';
import { counted, seconds, size } from './words';

export interface OperatorGraphProps {
  readonly standing: Standing;
  /** Whether the view waits for the kernel. */
  readonly busy: boolean;
  readonly go: (operator: number) => void;
}

export function OperatorGraph({ standing, busy, go }: OperatorGraphProps) {
  const rows = lanes(standing.operators);
  const width = Math.max(...rows.map(row => Math.max(row.lane, ...row.past, ...row.from))) + 1;
  const here = standing.crumbs[standing.at]?.operators ?? [];
  return (
    <ol class="bd-graph" aria-label="Operators, sources first">
      {standing.operators.map((operator, at) => {
        const row = rows[at];
        return (
          <li key={operator.id} class={here.includes(operator.id) ? 'bd-here' : ''}>
            {row !== undefined && <Lines row={row} width={width} />}
            <Box operator={operator} standing={standing} here={here.includes(operator.id)} busy={busy} go={go} />
          </li>
        );
      })}
    </ol>
  );
}

interface BoxProps extends OperatorGraphProps {
  readonly operator: TracedOperator;
  readonly here: boolean;
}

function Box({ operator, standing, here, busy, go }: BoxProps) {
  const back = standing.back.includes(operator.id);
  const way = here ? 'the trace stands here' : back ? 'go back to this operator' : 'go ahead to this operator';
  const reachable = !here && (back || standing.ahead.includes(operator.id));
  return (
    <button
      type="button"
      class="bd-operator"
      aria-current={here ? 'step' : undefined}
      disabled={busy || !(reachable || here)}
      title={reachable || here ? way : 'no way leads here'}
      onClick={() => {
        if (reachable) {
          go(operator.id);
        }
      }}
    >
      <span class="bd-name">
        <bdi>{operator.name}</bdi>
        {operator.dataset !== null && operator.dataset !== operator.name && (
          <span class="bd-dataset">
            {' '}
            <bdi>{operator.dataset}</bdi>
          </span>
        )}
      </span>
      {operator.culprits > 0 && <span class="bd-culprits">{counted(operator.culprits, 'culprit')}</span>}
      <span class="bd-facts">{facts(operator, standing).join(' · ')}</span>
      {(operator.line ?? operator.does) !== null && (
        <span class="bd-site">
          <bdi>{operator.line ?? operator.does}</bdi>
        </span>
      )}
    </button>
  );
}

/** What was counted at an operator; of a stage, the time and the bytes stand at its last one. */
function facts(operator: TracedOperator, standing: Standing): string[] {
  const known = new Set(standing.operators.map(each => each.id));
  const stages = standing.stages.filter(stage => stage.operators.filter(id => known.has(id)).at(-1) === operator.id);
  const bytes = stages.reduce((sum, stage) => sum + Math.max(stage.bytes, 0), 0);
  const taken = stages.reduce((sum, stage) => sum + (stage.seconds ?? 0), 0);
  return [
    operator.records === null ? null : counted(operator.records, 'record'),
    taken >= 0.005 ? seconds(taken) : null,
    bytes > 0 ? `lineage ${size(bytes)}` : null
  ].filter(fact => fact !== null);
}

const STEP = 14;

/** The lines beside one operator. What they say, the list and its buttons say as well. */
function Lines({ row, width }: { row: Row; width: number }) {
  const at = (lane: number): number => lane * STEP + STEP / 2;
  return (
    <span class="bd-lines" style={{ width: `${width * STEP}px` }} aria-hidden="true">
      <svg width={width * STEP} height="100%" viewBox={`0 0 ${width * STEP} 100`} preserveAspectRatio="none">
        {row.past.map(lane => (
          <path key={`past${lane}`} d={`M${at(lane)} 0V100`} />
        ))}
        {row.from.map(lane => (
          <path key={`from${lane}`} d={`M${at(lane)} 0L${at(row.lane)} 50`} />
        ))}
        {row.on && <path d={`M${at(row.lane)} 50V100`} />}
      </svg>
      <span class="bd-dot" style={{ left: `${at(row.lane)}px` }} />
    </span>
  );
}
