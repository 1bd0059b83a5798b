/**
 * What the culprit view and the kernel say to each other: the contents of their messages, by the name of the request.
 *
 * `bigdebug/views/crashing.py` is its other half; both read and write the files of `tests/golden/culprits`. Texts are the
 * user's: they are shown, and never become markup. What is edited goes to the kernel as text, and nothing of it is run.
 */
import * as v from 'valibot';
import type { AskOf } from './asking';
import { eventOf, whole } from './payload';

const Counts = { skipped: whole, repaired: whole, fixed: whole, open: whole };

/** A culprit, its cause, and its place among those of that. */
const Place = { number: whole, cause: whole, at: whole };

const Decided = v.picklist(['open', 'skip', 'repair', 'fix']);

const Cause = v.object({
  cause: whole,
  culprits: whole,
  /** The number of its first culprit. */
  first: whole,
  exception: v.string(),
  message: v.string(),
  operator: v.string(),
  line: v.nullable(v.string()),
  ...Counts
});

const Ended = v.object({
  run: v.string(),
  seconds: v.number(),
  /** Whether it is what was decided; else something was decided since, or a later resume failed. */
  latest: v.boolean(),
  /** Partitions that were computed, and that were there; null where Spark does not tell. */
  ran: v.nullable(whole),
  reused: v.nullable(whole),
  /** How many records of the result hang on the source records of what was repaired; null where that is not known at once. */
  reached: v.nullable(whole),
  crashed: whole,
  /** Records put in the place of others that crashed again. */
  again: v.array(v.string()),
  more: whole,
  notes: v.array(v.string())
});

/** What a resume would compute, and reach. */
const Forecast = v.object({
  said: v.array(v.string()),
  /** Those that have tasks of their own, in the order of the program; none where they are not known before. */
  stages: v.array(v.object({ operators: v.array(v.string()), partitions: whole, computes: whole })),
  left: whole
});

const Standing = v.object({
  run: v.nullable(v.string()),
  name: v.nullable(v.string()),
  /** Counts what the view tells. */
  change: whole,
  known: whole,
  complete: v.boolean(),
  /** The culprit to begin with. */
  first: v.nullable(v.object(Place)),
  notes: v.array(v.string()),
  causes: v.array(Cause),
  /** Causes that are left out. */
  left: whole,
  /** Counts the decisions. */
  said: whole,
  /** Whether all are skipped of which nothing else was said, also those that are found later. */
  all: v.boolean(),
  decided: v.object(Counts),
  /** Why the run cannot be resumed; null if it can. */
  refused: v.nullable(v.string()),
  forecast: v.nullable(Forecast),
  /** What is done, how many of its tasks have ended, and of how many, as far as that is known. */
  doing: v.nullable(
    v.object({ what: v.string(), seconds: v.number(), tasks: v.nullable(whole), of: v.nullable(whole) })
  ),
  problem: v.nullable(v.object({ what: v.array(v.string()), remedy: v.string() })),
  resumed: v.nullable(Ended)
});

const Page = v.object({
  cause: whole,
  start: whole,
  total: whole,
  rows: v.array(v.object({ number: whole, record: v.string(), decided: Decided }))
});

const Field = v.object({
  name: v.string(),
  value: v.string(),
  /** What its text is read as. */
  reads: v.string(),
  /** What is edited; null if it is not edited as text. */
  text: v.nullable(v.string()),
  why: v.nullable(v.string()),
  edited: v.boolean(),
  /** The text that it was edited to, null for None; and the value that this says. */
  to: v.nullable(v.string()),
  now: v.nullable(v.string())
});

const Culprit = v.object({
  ...Place,
  operator: v.string(),
  partition: v.nullable(whole),
  again: v.boolean(),
  met: v.nullable(v.string()),
  exception: v.string(),
  message: v.array(v.string()),
  type: v.string(),
  /** Whether the record has no fields, and the one that is told of is the record. */
  whole: v.boolean(),
  fields: v.array(Field),
  left: whole,
  line: v.nullable(v.object({ place: v.string(), code: v.nullable(v.string()), inside: v.boolean() })),
  locals: v.array(v.tuple([v.string(), v.string()])),
  traceback: v.array(v.string()),
  /** Whether it is known where it came from, or can be found. */
  settled: v.boolean(),
  decided: Decided,
  fix: v.object({
    code: v.nullable(v.string()),
    why: v.nullable(v.string()),
    /** The operator's function as the notebook defines it now, and the one that it is fixed with, by name and place. */
    defined: v.nullable(v.string()),
    by: v.nullable(v.string())
  })
});

const Sources = v.object({
  number: whole,
  records: v.array(v.object({ origin: v.string(), record: v.string() })),
  total: whole
});

const Common = v.object({
  known: whole,
  /** Those that were compared: the first ones. */
  looked: whole,
  /** Source records behind several culprits, and behind how many. */
  records: v.array(v.object({ origin: v.string(), record: v.string(), culprits: whole })),
  /** What most of them were to be combined with. */
  met: v.array(v.object({ what: v.string(), culprits: whole }))
});

const Result = v.object({
  run: v.string(),
  columns: v.array(v.string()),
  left: whole,
  start: whole,
  /** Null for a single value. */
  total: v.nullable(whole),
  rows: v.array(v.array(v.string()))
});

/** The shapes of answers, by the name of the request. */
export const ANSWERS = {
  culprits: Standing,
  page: Page,
  culprit: Culprit,
  sources: Sources,
  common: Common,
  skip: Standing,
  repair: Standing,
  restore: Standing,
  fix: Standing,
  find: Standing,
  resume: Standing,
  stop: Standing,
  result: Result
} as const;

export type Standing = v.InferOutput<typeof Standing>;
export type Place = NonNullable<Standing['first']>;
export type Cause = v.InferOutput<typeof Cause>;
export type Ended = v.InferOutput<typeof Ended>;
export type CulpritPage = v.InferOutput<typeof Page>;
export type Field = v.InferOutput<typeof Field>;
export type Culprit = v.InferOutput<typeof Culprit>;
export type Forecast = v.InferOutput<typeof Forecast>;
export type Result = v.InferOutput<typeof Result>;

/** The text of a field, by its number; null for None. */
export interface Edit {
  readonly field: number;
  readonly text: string | null;
}

/** What can be asked, with what is said along. */
export interface Requests {
  culprits: Record<string, never>;
  page: { cause: number; start: number };
  culprit: { number: number };
  sources: { number: number };
  common: Record<string, never>;
  skip: { of: 'culprit' | 'cause' | 'all'; at: number; on: boolean };
  repair: { number: number; edits: readonly Edit[] };
  restore: { number: number };
  fix: { number: number; on: boolean };
  find: Record<string, never>;
  resume: Record<string, never>;
  stop: Record<string, never>;
  result: { start: number };
}

export type Ask = AskOf<Requests, typeof ANSWERS>;

/** How the view stands, whoever made it so: told unasked; null for other messages. */
export function told(data: unknown): Standing | null {
  return eventOf('culprits', Standing, data);
}
