/** An axis: where the marks of a column stand, and what is written beside it. What has no place between others has lanes at its end. */
import { finite, once, special, specials, type Column, type Special } from './column';
import { anywhere, domainOf, numberTicks, padded, place, timeTicks, type Domain, type Tick } from './scale';

export interface Axis {
  readonly from: number;
  readonly to: number;
  /** Where a mark stands, in pixels, by a column like the one that the axis was made of. */
  readonly at: (column: Column, mark: number) => number;
  readonly ticks: readonly Placed[];
  /** Pixels of a name, or of the least step between two values that have a width. */
  readonly step: number;
  /** Where lanes begin; the end of the axis if it has none. */
  readonly end: number;
}

export interface Placed {
  readonly at: number;
  readonly label: string;
  /** Whether it is one of NULL, NaN and the infinities. */
  readonly special: boolean;
}

export interface Wish {
  /** Pixels between two ticks at least. */
  readonly gap: number;
  /** Pixels of a lane for what has no place. */
  readonly lane: number;
  /** Whether marks have a width, so that half a step is to be left at both ends. */
  readonly wide?: boolean;
  /** Ends of the axis; those of the values else. */
  readonly domain?: Domain;
  /** Whether values without a place have lanes. */
  readonly lanes?: boolean;
}

export function axisOf(columns: readonly [Column, ...Column[]], from: number, to: number, wish: Wish): Axis {
  const [column] = columns;
  return column.type === 'name' ? named(column, from, to, wish) : measured(columns, from, to, wish);
}

/** One place for each name, and one more for NULL. */
function named(column: Column, from: number, to: number, { gap }: Wish): Axis {
  const names = column.labels.length;
  const missing = specials(column).length > 0;
  const step = (to - from) / Math.max(1, names + (missing ? 1 : 0));
  const middle = (name: number): number => from + (name + 0.5) * step;
  const every = Math.max(1, Math.ceil(gap / Math.max(Math.abs(step), 1e-9)));
  const shown: Placed[] = [];
  for (let name = 0; name < names; name += every) {
    shown.push({ at: middle(name), label: column.labels[name] ?? '', special: false });
  }
  return {
    from,
    to,
    step: Math.abs(step),
    end: to,
    at: (given, mark) => middle(special(given, mark) === null ? (given.values[mark] ?? 0) : names),
    ticks: missing ? [...shown, { at: middle(names), label: 'NULL', special: true }] : shown
  };
}

function measured(columns: readonly [Column, ...Column[]], from: number, to: number, wish: Wish): Axis {
  const [column] = columns;
  const lanes = wish.lanes === false ? [] : [...new Set(columns.flatMap(specials))];
  const toward = Math.sign(to - from);
  // Where nothing but lanes is, there is no number to be written beside them.
  const valued = wish.domain !== undefined || anywhere(columns);
  const room = valued ? Math.min(lanes.length * wish.lane, Math.abs(to - from) * 0.6) : Math.abs(to - from);
  const end = to - toward * room;
  const all = wish.domain ?? domainOf(columns);
  const least = wish.wide === true ? leastStep(column) : 0;
  const domain = wish.domain ?? padded(all, least / 2);
  const put = place(domain, from, end);
  const lane = (what: Special): number => end + toward * ((lanes.indexOf(what) + 0.5) * (room / lanes.length));
  return {
    from,
    to,
    step: least > 0 ? Math.abs(put(domain[0] + least) - from) : valued ? Math.abs(end - from) : wish.lane,
    end,
    at: (given, mark) => {
      const value = finite(given, mark);
      if (!Number.isNaN(value)) {
        return put(value);
      }
      const what = special(given, mark);
      return what !== null && lanes.includes(what) ? lane(what) : NaN;
    },
    ticks: [
      ...(valued ? ticksOf(column, domain, Math.abs(end - from) / wish.gap) : []).map(({ value, label }) => ({
        at: put(value),
        label,
        special: false
      })),
      ...lanes.map(what => ({ at: lane(what), label: what, special: true }))
    ]
  };
}

function ticksOf(column: Column, domain: Domain, most: number): Tick[] {
  return column.type === 'time' ? timeTicks(domain, most) : numberTicks(domain, most, column.whole);
}

/** The least distance between two different values; 0 if there are no two. */
export const leastStep = once((column): number => {
  const values = Float64Array.from(column.values, (_, mark) => finite(column, mark)).filter(
    each => !Number.isNaN(each)
  );
  values.sort();
  let least = Infinity;
  for (let at = 1; at < values.length; at += 1) {
    const step = (values[at] ?? 0) - (values[at - 1] ?? 0);
    least = step > 0 && step < least ? step : least;
  }
  return Number.isFinite(least) ? least : 0;
});

/** Where all marks stand at an axis. */
export function positions(axis: Axis, column: Column): Float32Array {
  const found = new Float32Array(column.values.length);
  for (let mark = 0; mark < found.length; mark += 1) {
    found[mark] = axis.at(column, mark);
  }
  return found;
}
