/** What a panel has heard of a kernel: its Spark session and its runs, added up from changes. Plain data. */
import type { Changes, RunLine } from './payload';
import type { WatchLine } from './watching';

export interface Heard {
  readonly upto: number;
  readonly session: Changes['session'];
  /** By id, in the order in which they ran. */
  readonly runs: ReadonlyMap<string, RunLine>;
  /** Those that are on. */
  readonly watches: readonly WatchLine[];
}

export const NOTHING: Heard = { upto: 0, session: null, runs: new Map(), watches: [] };

/** `heard` with changes added; null if what comes before them was missed, so that the kernel has to be asked for it. */
export function add(heard: Heard, changes: Changes): Heard | null {
  if (changes.after === 0) {
    const runs = new Map(changes.runs.map(run => [run.id, run]));
    return { upto: changes.upto, session: changes.session, runs, watches: changes.watches ?? [] };
  }
  if (changes.upto <= heard.upto) {
    return heard;
  }
  if (changes.after > heard.upto) {
    return null;
  }
  const runs = new Map(heard.runs);
  changes.forgotten.forEach(id => runs.delete(id));
  changes.runs.forEach(run => runs.set(run.id, run));
  return { upto: changes.upto, session: changes.session, runs, watches: changes.watches ?? heard.watches };
}

/** What tells a run from all others: a new Spark session, or another kernel, counts its ids anew. */
export function keyOf(run: RunLine): string {
  return `${run.id} ${run.noted}`;
}

/** Whether nobody ran it: somebody asked about a DataFrame of which no action was captured. */
export function onlyAsked(run: RunLine): boolean {
  return run.began === null;
}
