/**
 * What the datasets view and the kernel say to each other: the contents of their messages, by the name of the request.
 *
 * `bigdebug/views/feeding.py` is its other half; both read and write the files of `tests/golden/datasets`. Texts are
 * the user's: they are shown, and never become markup.
 */
import * as v from 'valibot';
import type { AskOf } from './asking';
import { whole } from './payload';

const Node = v.object({
  /** Its number in the store; null of a job. */
  dataset: v.nullable(whole),
  name: v.string(),
  full: v.string(),
  kind: v.string(),
  facts: v.string(),
  failed: v.boolean(),
  layer: whole,
  place: whole
});

/** From a node to another, by their numbers in the list, by way of the layers between: `[layer, place]`. `same` says that both are the same data. */
const Link = v.object({ from: whole, to: whole, same: v.boolean(), way: v.array(v.tuple([whole, whole])) });

const Graph = v.object({
  nodes: v.array(Node),
  links: v.array(Link),
  focus: v.nullable(whole),
  /** Datasets that are left out. */
  left: whole,
  notes: v.array(v.string())
});

const Column = v.object({ name: v.string(), type: v.string(), made: v.array(v.string()) });

const Done = v.object({
  /** Seconds since 1970. */
  when: v.number(),
  what: v.string(),
  job: v.string(),
  rows: v.string(),
  schema: v.string(),
  status: v.string(),
  error: v.string(),
  cell: v.string(),
  run: v.string()
});

const Dataset = v.object({
  dataset: whole,
  name: v.string(),
  short: v.string(),
  kind: v.string(),
  format: v.string(),
  columns: v.array(Column),
  left: whole,
  start: whole,
  history: v.array(Done),
  more: v.boolean(),
  notes: v.array(v.string())
});

const Reached = v.object({
  steps: whole,
  dataset: v.string(),
  column: v.string(),
  influence: v.string(),
  how: v.string()
});

const Traced = v.object({
  column: v.string(),
  up: v.array(Reached),
  down: v.array(Reached),
  left: whole,
  /** The datasets of these, by their numbers. */
  reached: v.array(whole),
  notes: v.array(v.string())
});

/** The shapes of answers, by the name of the request. */
export const ANSWERS = { graph: Graph, around: Graph, dataset: Dataset, column: Traced } as const;

export type Graph = v.InferOutput<typeof Graph>;
export type Node = v.InferOutput<typeof Node>;
export type Dataset = v.InferOutput<typeof Dataset>;
export type Done = v.InferOutput<typeof Done>;
export type Reached = v.InferOutput<typeof Reached>;
export type Traced = v.InferOutput<typeof Traced>;

/** What can be asked, with what is said along. */
export interface Requests {
  graph: { all?: true };
  around: { dataset: number };
  dataset: { dataset: number; start: number };
  /** A column by its place in the dataset's list. */
  column: { dataset: number; column: number };
}

export type Ask = AskOf<Requests, typeof ANSWERS>;
