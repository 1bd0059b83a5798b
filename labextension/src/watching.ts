/**
 * A watch as the kernel tells of it, to the panel and to a view of its own: counts, the latest records, and what went wrong.
 *
 * `bigdebug/views/watching.py` is its other half. Texts are the user's: they are shown, and never become markup.
 */
import * as v from 'valibot';

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

const Seen = { record: v.string(), operator: v.string(), partition: whole };

export const WatchLine = v.object({
  id: v.string(),
  /** Null for a watch on all operators. */
  operator: v.nullable(v.string()),
  on: v.boolean(),
  /** Whether it has a guard; and after how many seconds, or beyond how many deviations, it tells of calls. */
  guarded: v.boolean(),
  timeout: v.nullable(v.number()),
  deviations: v.nullable(v.number()),
  /** Records that matched; those that are kept, and those of which nothing was sent. */
  matched: whole,
  kept: whole,
  left: whole,
  /** How often the guard raised. */
  raised: whole,
  /** Whether the guard is called no more, for it raised too often. */
  disabled: v.boolean(),
  hung: whole,
  beyond: whole,
  /** The latest, as far as they are told; the slowest. */
  records: v.array(v.object({ ...Seen, when: v.number() })),
  hangs: v.array(
    v.object({
      ...Seen,
      seconds: v.nullable(v.number()),
      state: v.picklist(['running', 'ended', 'lost']),
      line: v.nullable(v.string())
    })
  ),
  slow: v.array(v.object({ ...Seen, seconds: v.nullable(v.number()), deviations: v.nullable(v.number()) })),
  errors: v.array(v.object({ exception: v.string(), record: v.string(), line: v.nullable(v.string()) })),
  /** Which tasks could not tell, and why. */
  missing: v.array(v.string())
});

export type WatchLine = v.InferOutput<typeof WatchLine>;

/** The shapes of answers of a watch's own view, by the name of the request. */
export const ANSWERS = { watch: WatchLine, stop: WatchLine } as const;

/** What can be asked of it. */
export interface Requests {
  watch: Record<string, never>;
  stop: Record<string, never>;
}
