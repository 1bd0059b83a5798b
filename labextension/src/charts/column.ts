/** A column of marks as it is drawn: a number for each mark, or what it is instead. */
import { flagsOf, type Channel, type Channels } from '../brushing';
import { numbers } from '../buffers';
import { moment, quantity } from './words';

export interface Column {
  readonly name: string;
  readonly type: 'number' | 'time' | 'name';
  readonly whole: boolean;
  readonly recomputed: boolean;
  /** Numbers, milliseconds since 1970, or places among the labels. */
  readonly values: Float64Array | Int32Array;
  /** A flag for each mark; null if none is NULL. */
  readonly nulls: Uint8Array | null;
  readonly labels: readonly string[];
}

export interface Columns {
  readonly x?: Column;
  readonly y?: Column;
  readonly color?: Column;
}

/** What a value is that has no place between others. */
export const SPECIALS = ['−∞', '∞', 'NaN', 'NULL'] as const;
export type Special = (typeof SPECIALS)[number];

export function columnOf(channel: Channel, marks: number): Column {
  return {
    name: channel.column,
    type: channel.type,
    whole: channel.whole,
    recomputed: channel.recomputed,
    values: channel.type === 'name' ? numbers(channel.values, Int32Array) : numbers(channel.values, Float64Array),
    nulls: channel.nulls === null ? null : flagsOf(channel.nulls, marks),
    labels: channel.labels ?? []
  };
}

export function columnsOf(channels: Channels, marks: number): Columns {
  const { x, y, color } = channels;
  return {
    ...(x === undefined ? {} : { x: columnOf(x, marks) }),
    ...(y === undefined ? {} : { y: columnOf(y, marks) }),
    ...(color === undefined ? {} : { color: columnOf(color, marks) })
  };
}

/** What the value of a mark is if it is no finite one, else null. */
export function special(column: Column, mark: number): Special | null {
  const value = column.values[mark] ?? NaN;
  if (column.nulls?.[mark] === 1 || (column.type === 'name' && value < 0)) {
    return 'NULL';
  }
  return Number.isFinite(value) ? null : Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞';
}

/** A function of a column that is computed once for each: columns never change. */
export function once<Fact>(of: (column: Column) => Fact): (column: Column) => Fact {
  const known = new WeakMap<Column, { readonly fact: Fact }>();
  return column => {
    const found = known.get(column) ?? { fact: of(column) };
    known.set(column, found);
    return found.fact;
  };
}

/** Those special values that a column has, in their order at an axis. */
export const specials = once((column): readonly Special[] => {
  const found = new Set<Special>();
  for (let mark = 0; mark < column.values.length && found.size < SPECIALS.length; mark += 1) {
    const what = special(column, mark);
    if (what !== null) {
      found.add(what);
    }
  }
  return SPECIALS.filter(each => found.has(each));
});

/** The value of a mark; NaN where there is no finite one. */
export function finite(column: Column, mark: number): number {
  const value = column.values[mark] ?? NaN;
  return Number.isFinite(value) && column.nulls?.[mark] !== 1 ? value : NaN;
}

/** The value of a mark in words. */
export function words(column: Column, mark: number): string {
  const value = column.values[mark] ?? NaN;
  const what = special(column, mark);
  if (what !== null) {
    return what;
  }
  switch (column.type) {
    case 'name':
      return column.labels[value] ?? '';
    case 'time':
      return moment(value, column.whole);
    default:
      return quantity(value);
  }
}
