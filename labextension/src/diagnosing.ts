/**
 * What the localization view and the kernel say to each other: the contents of their messages, by the name of the request.
 *
 * `bigdebug/views/diagnosing.py` is its other half; both read and write the files of `tests/golden/diagnosis`. Texts are
 * the user's: they are shown, and never become markup.
 */
import * as v from 'valibot';
import type { AskOf } from './asking';
import { eventOf, whole } from './payload';

const Row = v.object({
  origin: v.string(),
  /** How far the outputs move without it, 1 being the farthest; null for what is not ranked. */
  moves: v.nullable(v.number()),
  cells: v.array(v.string())
});

const Records = v.object({ start: whole, total: whole, columns: v.array(v.string()), rows: v.array(Row) });

const Named = v.object({ origin: v.string(), record: v.string() });

const Fault = v.object({
  verdict: v.string(),
  /** Whether some outputs are not right without it but not there any more. */
  gone: v.boolean(),
  evidence: v.array(v.string()),
  /** The first of the outputs that it explains. */
  outputs: v.array(v.string()),
  explains: whole,
  records: Records,
  /** Sets that would do as well, the first of `others`. */
  instead: v.array(v.object({ records: v.array(Named), total: whole })),
  others: whole
});

const Diagnosis = v.object({
  verdict: v.string(),
  explanation: v.string(),
  incomplete: v.nullable(v.string()),
  tests: whole,
  seconds: v.number(),
  faults: v.array(Fault),
  /** Fault sets that are left out. */
  left: whole,
  ranking: v.object({ columns: v.array(v.string()), total: whole, rows: v.array(Row) })
});

const Progress = v.object({
  step: v.string(),
  tests: whole,
  seconds: v.number(),
  output: v.string(),
  /** Which of the outputs it is, from 1; 0 before there is one. */
  number: whole,
  outputs: whole,
  candidates: whole,
  /** Without so many candidates the output is right, where they are fewer than all. */
  left: whole,
  faults: whole,
  explained: whole
});

const Standing = v.object({
  /** Counts what the view says. */
  at: whole,
  state: v.picklist(['waiting', 'running', 'ended', 'failed']),
  stopping: v.boolean(),
  progress: v.nullable(Progress),
  /** Seconds, candidates left, and the number of the output. */
  course: v.array(v.tuple([v.number(), whole, whole])),
  error: v.nullable(v.object({ what: v.string(), remedy: v.string() })),
  diagnosis: v.nullable(Diagnosis)
});

/** The shapes of answers, by the name of the request. */
export const ANSWERS = {
  diagnosis: Standing,
  stop: Standing,
  records: v.object({ fault: whole, ...Records.entries })
} as const;

export type Standing = v.InferOutput<typeof Standing>;
export type Progress = v.InferOutput<typeof Progress>;
export type Diagnosis = v.InferOutput<typeof Diagnosis>;
export type Fault = v.InferOutput<typeof Fault>;
export type FoundRecords = v.InferOutput<typeof Records>;
export type Course = Standing['course'];

/** What can be asked, with what is said along. */
export interface Requests {
  diagnosis: Record<string, never>;
  stop: Record<string, never>;
  records: { fault: number; start: number };
}

export type Ask = AskOf<Requests, typeof ANSWERS>;

/** How the search stands, as the view says by itself, or to whoever stopped it; null for other messages. */
export function stands(data: unknown): Standing | null {
  const told = eventOf('search', Standing, data);
  if (told !== null) {
    return told;
  }
  const stopped = v.safeParse(v.object({ answer: v.literal('stop'), content: Standing }), data);
  return stopped.success ? stopped.output.content : null;
}
