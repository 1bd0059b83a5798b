/**
 * What the brush view and the kernel say to each other: the contents of their messages, by the name of the request.
 *
 * `bigdebug/views/brushing.py` is its other half; both read and write the files of `tests/golden/brush`. Charts are told
 * apart by their places, marks by their numbers; what holds for each mark comes in a buffer. Texts are the user's.
 */
import * as v from 'valibot';
import type { AskOf } from './asking';
import { eventOf, whole } from './payload';

const Buffer = v.instance(DataView);

const Channel = v.object({
  column: v.string(),
  /** Whether it follows a brush in other charts. */
  recomputed: v.boolean(),
  type: v.picklist(['number', 'time', 'name']),
  /** Whole numbers, or moments that are days. */
  whole: v.boolean(),
  /** For each mark: numbers and milliseconds since 1970 as float64, places among the labels as int32. */
  values: Buffer,
  /** A bit for each mark; null if none is NULL. */
  nulls: v.nullable(Buffer),
  labels: v.nullable(v.array(v.string()))
});

const Channels = v.object({
  x: v.exactOptional(Channel),
  y: v.exactOptional(Channel),
  color: v.exactOptional(Channel)
});

const Charted = v.object({
  name: v.string(),
  kind: v.picklist(['bar', 'histogram', 'line', 'scatter', 'heat', 'table']),
  marks: whole,
  channels: Channels,
  /** Whether anything of it is recomputed under a brush; else its marks are only highlighted. */
  follows: v.boolean(),
  columns: v.array(v.string()),
  /** Columns that are left out. */
  left: whole,
  notes: v.array(v.string())
});

/** What is brushed in a chart, a bit for each mark; null if nothing is. */
const Clause = v.object({ view: whole, marks: v.nullable(Buffer) });

const Showing = v.object({
  view: whole,
  /** The marks that share rows with what is brushed in others, a bit for each; null for all. */
  lit: v.nullable(Buffer),
  /** Those that follow a brush, of the rows that are left. */
  channels: Channels
});

const Mode = v.picklist(['crossfilter', 'highlight']);

const Change = {
  /** Counts what was changed in the view, by whomever. */
  change: whole,
  mode: Mode,
  clauses: v.array(Clause),
  shown: v.array(Showing)
};

const Changed = v.object(Change);
const Opened = v.object({ ...Change, charts: v.array(Charted) });
const Done = v.object({ change: whole });

const Fields = v.object({
  view: whole,
  mark: whole,
  /** How many rows it has left, and of how many. */
  rows: whole,
  of: whole,
  left: whole,
  /** `all` is what all rows make; null where that is the same. */
  fields: v.array(v.object({ name: v.string(), now: v.string(), all: v.nullable(v.string()) }))
});

const Page = v.object({
  view: whole,
  start: whole,
  numbers: v.array(whole),
  total: whole,
  lit: v.array(v.boolean()),
  rows: v.array(v.array(v.string()))
});

const Rows = v.object({
  /** The change of the view behind which these records are. */
  change: whole,
  total: whole,
  input: v.string(),
  start: whole,
  columns: v.array(v.string()),
  left: whole,
  /** Where each came from; null where that is not known. */
  names: v.nullable(v.array(v.string())),
  rows: v.array(v.array(v.string())),
  more: v.boolean(),
  /** Whether others follow that no page has. */
  beyond: v.boolean()
});

/** The shapes of answers, by the name of the request. */
export const ANSWERS = { open: Opened, brush: Done, mode: Done, mark: Fields, page: Page, rows: Rows } as const;

export type Channel = v.InferOutput<typeof Channel>;
export type Channels = v.InferOutput<typeof Channels>;
export type Charted = v.InferOutput<typeof Charted>;
export type Changed = v.InferOutput<typeof Changed>;
export type Opened = v.InferOutput<typeof Opened>;
export type Fields = v.InferOutput<typeof Fields>;
export type Page = v.InferOutput<typeof Page>;
export type Mode = v.InferOutput<typeof Mode>;

/** What can be asked, with what is said along. */
export interface Requests {
  open: Record<string, never>;
  brush: { clauses: readonly { view: number; marks: Uint8Array | null }[] };
  mode: { mode: Mode };
  mark: { view: number; mark: number };
  page: { view: number; start: number; sort?: number; descending?: boolean };
  rows: { start: number };
}

export type Ask = AskOf<Requests, typeof ANSWERS>;

/** What has changed, as all that show the view are told; null for other messages. */
export function changed(data: unknown): Changed | null {
  return eventOf('shown', Changed, data);
}

/** A flag for each mark, of bits. */
export function flagsOf(bits: DataView, marks: number): Uint8Array {
  const flags = new Uint8Array(marks);
  for (let mark = 0; mark < marks && mark >> 3 < bits.byteLength; mark += 1) {
    flags[mark] = (bits.getUint8(mark >> 3) >> (mark & 7)) & 1;
  }
  return flags;
}

/** A bit for each flag, the first in the lowest place of the first byte. */
export function bitsOf(flags: Uint8Array): Uint8Array {
  const bits = new Uint8Array((flags.length + 7) >> 3);
  flags.forEach((flag, mark) => {
    bits[mark >> 3] = (bits[mark >> 3] ?? 0) | (flag << (mark & 7));
  });
  return bits;
}
