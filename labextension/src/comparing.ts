/**
 * What the replay view and the kernel say to each other: the contents of their messages, by the name of the request.
 *
 * `bigdebug/views/comparing.py` is its other half; both read and write the files of `tests/golden/comparison`. Texts are
 * the user's: they are shown, and never become markup.
 */
import * as v from 'valibot';
import type { AskOf } from './asking';
import { whole } from './payload';

const Kind = v.picklist(['changed', 'added', 'removed']);

const Input = v.object({ origin: v.string(), record: v.string() });

const Inputs = v.object({
  /** Inputs of the old output alone, the first of `gones`. */
  gone: v.array(Input),
  gones: whole,
  /** Inputs of the new one alone, the first of `news`. */
  new: v.array(Input),
  news: whole,
  same: whole
});

const Change = v.object({
  number: whole,
  kind: Kind,
  before: v.nullable(v.array(v.string())),
  after: v.nullable(v.array(v.string())),
  /** The fields that are others than before, by their places. */
  differ: v.array(whole),
  /** Null if nobody has looked behind it. */
  inputs: v.nullable(Inputs)
});

const Summary = v.object({ changed: whole, added: whole, removed: whole, kept: whole, notes: v.array(v.string()) });

const Page = v.object({
  kind: v.picklist(['all', 'changed', 'added', 'removed']),
  start: whole,
  total: whole,
  columns: v.array(v.string()),
  /** Columns that are left out. */
  left: whole,
  changes: v.array(Change)
});

/** The shapes of answers, by the name of the request. */
export const ANSWERS = { comparison: Summary, page: Page } as const;

export type Summary = v.InferOutput<typeof Summary>;
export type Page = v.InferOutput<typeof Page>;
export type Change = v.InferOutput<typeof Change>;
export type Inputs = v.InferOutput<typeof Inputs>;
export type Kind = Page['kind'];

/** What can be asked, with what is said along. */
export interface Requests {
  comparison: Record<string, never>;
  page: { kind: Kind; start: number };
}

export type Ask = AskOf<Requests, typeof ANSWERS>;
