/** One of several linked charts: its head, with what is brushed in it, and its marks. */
import type { Ask, Mode } from '../brushing';
import type { Drawn } from '../charts/picture';
import { Legend } from './legend';
import { MarkTable } from './marktable';
import { Plot } from './plot';
import { number } from './words';

export interface ChartProps {
  readonly view: number;
  readonly drawn: Drawn;
  readonly ask: Ask;
  /** Counts what has changed in any of the charts. */
  readonly change: number;
  readonly mode: Mode;
  readonly fit: boolean;
  readonly theme: number;
  readonly brush: (flags: Uint8Array | null) => void;
}

export function ChartCard(props: ChartProps) {
  const { drawn, brush } = props;
  const { chart } = drawn;
  const table = chart.kind === 'table';
  return (
    <section class={`bd-chart bd-${chart.kind}`} aria-label={chart.name}>
      <div class="bd-head">
        <span class="bd-name">
          <bdi>{chart.name}</bdi>
        </span>
        <span class="bd-brushed" role="status">
          {brushedIn(drawn)}
        </span>
        <button
          type="button"
          class="bd-clear"
          hidden={drawn.brushed === null}
          aria-label={`Clear ${chart.name}`}
          onClick={() => {
            brush(null);
          }}
        >
          Clear
        </button>
      </div>
      {chart.marks === 0 ? <p class="bd-none">No marks.</p> : table ? <MarkTable {...props} /> : <Plot {...props} />}
      {chart.marks > 0 && !table && <Legend drawn={drawn} fit={props.fit} />}
      {!chart.follows && props.mode === 'crossfilter' && chart.marks > 0 && (
        <p class="bd-note">Keeps its values: marks of which no row is left fade.</p>
      )}
      {chart.notes.map((note, at) => (
        <p key={at} class="bd-note">
          <bdi>{note}</bdi>
        </p>
      ))}
    </section>
  );
}

/** `3 of 29 brushed`. */
export function brushedIn({ chart, brushed }: Drawn): string {
  const marks = `${number(chart.marks)} mark${chart.marks === 1 ? '' : 's'}`;
  return brushed === null ? marks : `${number(sum(brushed))} of ${number(chart.marks)} brushed`;
}

export function sum(flags: Uint8Array): number {
  let count = 0;
  for (const flag of flags) {
    count += flag;
  }
  return count;
}
