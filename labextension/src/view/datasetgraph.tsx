/** The graph of datasets and jobs in layers, what feeds others to the left of them. Datasets are buttons. */
import { useEffect, useRef } from 'preact/hooks';
import type { Graph, Node } from '../feeding';

const WIDTH = 150;
const HEIGHT = 42;
const ACROSS = 205;
const DOWN = 56;
const EDGE = 12;

export interface DatasetGraphProps {
  readonly graph: Graph;
  /** The dataset that is looked at. */
  readonly chosen: number | null;
  /** Datasets that a column reaches; null if none is followed. */
  readonly lit: ReadonlySet<number> | null;
  readonly choose: (dataset: number) => void;
}

export function DatasetGraph({ graph, chosen, lit, choose }: DatasetGraphProps) {
  const { places, ways, width, height } = placed(graph);
  const scroll = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // What the graph is about may stand outside of what is seen first.
    const focus = graph.focus === null ? undefined : places[graph.focus];
    if (scroll.current !== null && focus !== undefined) {
      scroll.current.scrollTo(focus.x - scroll.current.clientWidth / 2, focus.y - scroll.current.clientHeight / 2);
    }
  }, [graph]);
  return (
    <div class="bd-scroll bd-feeds" ref={scroll} tabIndex={-1}>
      <div class="bd-layers" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          {graph.links.map(({ same }, at) => (
            <path key={at} class={same ? 'bd-same' : ''} d={curve(ways[at] ?? [])} />
          ))}
        </svg>
        <ul aria-label="Datasets and jobs, what feeds others before them">
          {graph.nodes.map((node, at) => (
            <li
              key={at}
              style={{
                insetInlineStart: `${places[at]?.x ?? 0}px`,
                top: `${places[at]?.y ?? 0}px`,
                width: `${WIDTH}px`,
                height: `${HEIGHT}px`
              }}
            >
              <Box node={node} chosen={chosen} lit={lit} choose={choose} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

interface BoxProps extends Omit<DatasetGraphProps, 'graph'> {
  readonly node: Node;
}

function Box({ node, chosen, lit, choose }: BoxProps) {
  const { dataset } = node;
  const faded = lit !== null && (dataset === null || !lit.has(dataset)) ? ' bd-faded' : '';
  const name = (
    <>
      <span class="bd-name">
        <bdi>{node.name}</bdi>
      </span>
      <span class={node.failed ? 'bd-facts bd-failed' : 'bd-facts'}>{node.facts}</span>
    </>
  );
  if (dataset === null) {
    return (
      <span class={`bd-job${faded}`} title={node.full}>
        {name}
      </span>
    );
  }
  return (
    <button
      type="button"
      class={`bd-dataset${faded}`}
      aria-pressed={dataset === chosen}
      title={node.full}
      onClick={() => {
        choose(dataset);
      }}
    >
      {name}
    </button>
  );
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Where nodes stand, and where links begin, pass and end: a layer is a column, the shorter ones in the middle of the longest. */
export function placed(graph: Graph) {
  const deep: number[] = [];
  const every = graph.nodes.map(({ layer, place }): [number, number] => [layer, place]);
  for (const [layer, place] of [...every, ...graph.links.flatMap(({ way }) => way)]) {
    deep[layer] = Math.max(deep[layer] ?? 0, place + 1);
  }
  const most = deep.reduce((one, other) => Math.max(one, other), 0);
  const stands = ([layer, place]: readonly [number, number]): Place => ({
    x: EDGE + layer * ACROSS,
    y: EDGE + (place + (most - (deep[layer] ?? 0)) / 2) * DOWN
  });
  const places = every.map(stands);
  const ways = graph.links.map(({ from, to, way }) => [
    ...[places[from]].filter(start => start !== undefined).map(({ x, y }) => ({ x: x + WIDTH, y: y + HEIGHT / 2 })),
    // A line goes straight through where a box would stand.
    ...way.map(stands).flatMap(({ x, y }) => [x, x + WIDTH].map(at => ({ x: at, y: y + HEIGHT / 2 }))),
    ...[places[to]].filter(end => end !== undefined).map(({ x, y }) => ({ x, y: y + HEIGHT / 2 }))
  ]);
  const width = 2 * EDGE + Math.max(0, deep.length - 1) * ACROSS + WIDTH;
  return { places, ways, width, height: 2 * EDGE + Math.max(0, most - 1) * DOWN + HEIGHT };
}

/** Along places from left to right; what leads back goes round below. */
function curve([start, ...rest]: readonly Place[]): string {
  if (start === undefined) {
    return '';
  }
  let here = start;
  const parts = rest.map(next => {
    const ahead = next.x > here.x;
    const [bend, below] = ahead ? [(next.x - here.x) / 2, 0] : [ACROSS / 2, DOWN];
    const part = `C${here.x + bend} ${here.y + below} ${next.x - bend} ${next.y + below} ${next.x} ${next.y}`;
    here = next;
    return part;
  });
  return `M${start.x} ${start.y}${parts.join('')}`;
}
