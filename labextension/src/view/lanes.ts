/** Lanes: where the lines of an operator graph run, beside a list of its operators with sources first. */

export interface Node {
  readonly id: number;
  readonly parents: readonly number[];
}

export interface Row {
  readonly id: number;
  /** The lane in which the operator stands. */
  readonly lane: number;
  /** Lanes from which records come to it. */
  readonly from: readonly number[];
  /** Lanes that pass it. */
  readonly past: readonly number[];
  /** Whether its records go on to another operator. */
  readonly on: boolean;
}

/** A row for each node, in their order; parents come before their children. */
export function lanes(nodes: readonly Node[]): Row[] {
  const last = new Map<number, number>();
  nodes.forEach((node, at) => {
    node.parents.forEach(parent => last.set(parent, at));
  });
  const taken: (number | null)[] = [];
  return nodes.map((node, at) => {
    const parents = [...new Set(node.parents)].map(parent => taken.indexOf(parent)).filter(lane => lane >= 0);
    for (const lane of parents) {
      if (last.get(taken[lane] ?? -1) === at) {
        taken[lane] = null;
      }
    }
    const past = taken.flatMap((id, lane) => (id === null ? [] : [lane]));
    const free = parents.find(lane => taken[lane] === null) ?? taken.indexOf(null);
    const lane = free < 0 ? taken.length : free;
    const on = last.has(node.id);
    taken[lane] = on ? node.id : null;
    return { id: node.id, lane, from: parents, past, on };
  });
}
