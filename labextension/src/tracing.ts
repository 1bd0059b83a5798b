/**
 * What the trace view and the kernel say to each other: the contents of their messages, by the name of the request.
 *
 * `bigdebug/views/tracing.py` is its other half; both read and write the files of `tests/golden/view`. Texts are the
 * user's: they are shown, and never become markup.
 */
import * as v from 'valibot';
import type { AskOf } from './asking';
import { Cause, Operator, whole } from './payload';

const Stage = v.object({ operators: v.array(whole), bytes: v.number(), seconds: v.nullable(v.number()) });

const Crumb = v.object({
  move: v.string(),
  /** How many records it went on from; null for all that there were. */
  chosen: v.nullable(whole),
  from: v.nullable(whole),
  operators: v.array(whole)
});

const Standing = v.object({
  run: v.string(),
  name: v.string(),
  status: v.picklist(['succeeded', 'failed', 'partial']),
  summary: v.string(),
  /** Counts the moves of the view, whoever made them. */
  change: whole,
  /** Where it stands among the crumbs. */
  at: whole,
  operators: v.array(v.object({ ...Operator.entries, does: v.nullable(v.string()), culprits: whole })),
  stages: v.array(Stage),
  causes: v.array(Cause),
  notes: v.array(v.string()),
  crumbs: v.array(Crumb),
  /** Operators that one can go back or ahead to. */
  back: v.array(whole),
  ahead: v.array(whole)
});

const Page = v.object({
  at: whole,
  operator: whole,
  start: whole,
  columns: v.array(v.string()),
  /** Columns that are left out. */
  left: whole,
  /** Where each record came from, or its id; null where records have neither. */
  names: v.nullable(v.array(v.string())),
  origins: v.boolean(),
  numbers: v.array(whole),
  rows: v.array(v.array(v.string())),
  more: v.boolean(),
  /** Whether others follow that no page has. */
  beyond: v.boolean()
});

const Counted = v.object({ at: whole, operator: whole, count: whole });

/** A file with all records, whatever page is shown. */
const Exported = v.object({ name: v.string(), kind: v.string(), records: whole, text: v.string() });

/** The shapes of answers, by the name of the request. */
export const ANSWERS = {
  trace: Standing,
  page: Page,
  count: Counted,
  export: Exported,
  move: Standing,
  crumb: Standing
} as const;

export type Standing = v.InferOutput<typeof Standing>;
export type TracedOperator = Standing['operators'][number];
export type Crumb = v.InferOutput<typeof Crumb>;
export type Page = v.InferOutput<typeof Page>;
export type Exported = v.InferOutput<typeof Exported>;

export type Move = 'back' | 'ahead' | 'sources' | 'outputs' | 'keep' | 'to';

/** What can be asked, with what is said along. */
export interface Requests {
  trace: Record<string, never>;
  page: { at: number; operator: number; start: number };
  count: { at: number; operator: number };
  export: { at: number; operator: number; form: 'csv' | 'json' };
  move: { at: number; operator: number; numbers: readonly number[]; move: Move; to?: number };
  crumb: { at: number };
}

export type Ask = AskOf<Requests, typeof ANSWERS>;

/** Where the view stands after a move, whoever asked for it; null for other messages. */
export function moved(data: unknown): Standing | null {
  const found = v.safeParse(v.object({ answer: v.picklist(['move', 'crumb']), content: Standing }), data);
  return found.success ? found.output.content : null;
}
