/** The datasets view: the graph of datasets and jobs, and of the dataset that is looked at its columns and its history. */
import { useState } from 'preact/hooks';
import type { Ask, Graph, Traced } from '../feeding';
import { DatasetFacts } from './datasetfacts';
import { DatasetGraph } from './datasetgraph';
import { Wrong } from './frame';
import { Notice } from './notice';
import { Stands } from './standing';
import { useDuring } from './useduring';
import { counted, number } from './words';

export function DatasetsView({ ask }: { ask: Ask }) {
  return (
    <Stands kind="datasets" look={() => ask('graph', {})} told={null} turn={() => 0}>
      {graph => <Whole ask={ask} first={graph} />}
    </Stands>
  );
}

function Whole({ ask, first }: { ask: Ask; first: Graph }) {
  const { busy, problem, during } = useDuring();
  const [graph, setGraph] = useState(first);
  const [chosen, choose] = useState<number | null>(focused(first));
  const [traced, setTraced] = useState<Traced | null>(null);
  const draw = (asked: Promise<Graph>): void => {
    void during(
      asked.then(answer => {
        setTraced(null);
        setGraph(answer);
        choose(focused(answer) ?? chosen);
      })
    );
  };
  return (
    <>
      <header>
        <span class="bd-summary">{summary(graph)}</span>
        <span class="bd-moves">
          <button
            type="button"
            disabled={busy}
            onClick={() => {
              draw(ask('graph', { all: true }));
            }}
          >
            {graph.focus === null ? 'Look again' : 'Show all'}
          </button>
        </span>
      </header>
      {graph.nodes.length === 0 ? (
        <Notice what={nothing(graph)} />
      ) : (
        <DatasetGraph
          graph={graph}
          chosen={chosen}
          lit={traced === null ? null : new Set(traced.reached)}
          choose={dataset => {
            setTraced(null);
            choose(dataset);
          }}
        />
      )}
      {problem !== null && <Wrong why={problem} />}
      {chosen !== null && (
        <DatasetFacts
          key={chosen}
          ask={ask}
          dataset={chosen}
          traced={traced}
          trace={setTraced}
          busy={busy}
          around={() => {
            draw(ask('around', { dataset: chosen }));
          }}
        />
      )}
      {graph.notes.map((note, at) => (
        <p key={at} class="bd-note">
          <bdi>{note}</bdi>
        </p>
      ))}
    </>
  );
}

/** Why nothing is drawn. */
function nothing({ left }: Graph): string {
  return left === 0
    ? 'Nothing was recorded yet: run a job while bigdebug is attached.'
    : 'Only queries were recorded that gave their results to a program, and wrote nothing.';
}

/** The dataset that all of a graph is about. */
function focused(graph: Graph): number | null {
  return graph.focus === null ? null : (graph.nodes[graph.focus]?.dataset ?? null);
}

function summary(graph: Graph) {
  const datasets = graph.nodes.filter(node => node.dataset !== null).length;
  const focus = graph.focus === null ? undefined : graph.nodes[graph.focus];
  return (
    <>
      {`${counted(datasets, 'dataset')}, ${counted(graph.nodes.length - datasets, 'job')}`}
      {focus !== undefined && (
        <>
          {' around '}
          <bdi>{focus.name}</bdi>
        </>
      )}
      {graph.left > 0 && `; ${number(graph.left)} more ${graph.left === 1 ? 'is' : 'are'} left out`}
    </>
  );
}
