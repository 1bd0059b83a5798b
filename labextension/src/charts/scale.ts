/** Scales: where a value stands between two ends, and which values are worth a tick. */
import { finite, once, type Column } from './column';
import { tick, timeTick, type Unit } from './words';

export type Domain = readonly [low: number, high: number];

export interface Tick {
  readonly value: number;
  readonly label: string;
}

const AIR = 1.04;

/** From the least finite value of some columns to the largest; [0, 0] where there is none. */
export function domainOf(columns: readonly (Column | undefined)[]): Domain {
  const ends = columns.filter(each => each !== undefined).map(endsOf);
  const [low, high] = [Math.min(...ends.map(each => each[0])), Math.max(...ends.map(each => each[1]))];
  return low <= high ? [low, high] : [0, 0];
}

/** The least and the largest finite value of a column; the wrong way round where there is none. */
const endsOf = once((column): Domain => {
  let low = Infinity;
  let high = -Infinity;
  for (let mark = 0; mark < column.values.length; mark += 1) {
    const value = finite(column, mark);
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  return [low, high];
});

/** Whether there is a finite value in some columns. */
export function anywhere(columns: readonly Column[]): boolean {
  return columns.map(endsOf).some(([low, high]) => low <= high);
}

/** The domain with zero in it, from which bars rise, and some air above them; of nothing but zeros there is room for one. */
export function withZero([low, high]: Domain): Domain {
  return low === 0 && high === 0 ? [0, 1] : held(Math.min(0, low * AIR), Math.max(0, high * AIR));
}

/** A domain that is no wider than numbers are. */
function held(low: number, high: number): Domain {
  return [Math.max(low, -Number.MAX_VALUE), Math.min(high, Number.MAX_VALUE)];
}

/** The domain with some more at both ends; one value alone stands in the middle. */
export function padded([low, high]: Domain, by: number): Domain {
  const more = by > 0 ? by : Math.abs(low) > 0 ? Math.abs(low) / 2 : 1;
  return low < high && by === 0 ? [low, high] : held(low - more, high + more);
}

/** Where a value is on the way from `from` to `to`. */
export function place([low, high]: Domain, from: number, to: number): (value: number) => number {
  // Halves, for the width of the widest domain is more than a number holds.
  const width = high / 2 - low / 2;
  return width > 0 ? value => from + ((value / 2 - low / 2) / width) * (to - from) : () => (from + to) / 2;
}

/** Round numbers, about as many as `most`. */
export function numberTicks([low, high]: Domain, most: number, whole: boolean): Tick[] {
  if (!(high > low)) {
    return [{ value: low, label: tick(low, Math.max(1, Math.abs(low))) }];
  }
  const step = Math.max(roundUp((high / 2 - low / 2) / Math.max(1, most / 2)), whole ? 1 : 0);
  if (!Number.isFinite(step) || step === 0) {
    return [low, high].map(value => ({ value, label: tick(value, Math.abs(value)) }));
  }
  const found: Tick[] = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9 && found.length < 100; at += 1) {
    found.push({ value: at * step, label: tick(at * step === 0 ? 0 : at * step, step) });
  }
  return found;
}

/** The least of 1, 2, 5, 10, 20, ... (and so on downwards) that is no smaller. */
function roundUp(step: number): number {
  const size = 10 ** Math.floor(Math.log10(step));
  return ([1, 2, 5].find(each => each * size >= step * (1 - 1e-9)) ?? 10) * size;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MONTH = 30.4 * DAY;
const YEAR = 365.25 * DAY;

/** Steps of a calendar: how long, in which unit, and how many of its parts. */
const STEPS: readonly (readonly [length: number, unit: Unit])[] = [
  ...[1, 10, 100].map(each => [each, 'part'] as const),
  ...[1, 5, 15, 30].map(each => [each * SECOND, 'second'] as const),
  ...[1, 5, 15, 30].map(each => [each * MINUTE, 'minute'] as const),
  ...[1, 3, 6, 12].map(each => [each * HOUR, 'minute'] as const),
  ...[1, 2, 7, 14].map(each => [each * DAY, 'day'] as const)
];

/** Moments where a unit of the calendar begins, about as many as `most`. */
export function timeTicks([low, high]: Domain, most: number): Tick[] {
  const wanted = (high - low) / Math.max(1, most);
  const fixed = STEPS.find(([length]) => length >= wanted);
  if (fixed !== undefined) {
    const [length, unit] = fixed;
    const start = Math.ceil(low / length);
    const count = Math.min(100, Math.floor(high / length) - start + 1);
    return labelled(
      Array.from({ length: Math.max(0, count) }, (_, at) => (start + at) * length),
      unit
    );
  }
  const months = [1, 3, 6].find(each => each * MONTH >= wanted);
  const years = months === undefined ? roundUp(Math.max(1, wanted / YEAR)) : 0;
  const found: number[] = [];
  const first = new Date(low);
  const step = months ?? years * 12;
  const start = Math.floor((first.getUTCFullYear() * 12 + first.getUTCMonth()) / step) * step;
  for (let month = start; found.length < 100; month += step) {
    const value = new Date(0).setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1);
    if (!(value <= high)) {
      break; // also at the end of all calendars
    }
    if (value >= low) {
      found.push(value);
    }
  }
  return labelled(found, months === undefined ? 'year' : 'month');
}

function labelled(values: readonly number[], unit: Unit): Tick[] {
  return values.map((value, at) => ({ value, label: timeTick(value, unit, at === 0) }));
}
