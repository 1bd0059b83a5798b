/** Bars and histograms: a bar for each mark, as long as its number; that of all rows stands faintly behind. */
import { axisOf, type Axis } from './axis';
import { css, seriesColor, type Rgb } from './colors';
import { finite, special, type Column } from './column';
import { areaOf, drawGrid, drawSides, GAP, widest, type Sides } from './frame';
import {
  counted,
  left,
  meeting,
  on,
  type Box,
  type Direction,
  type Drawn,
  type Flags,
  type Picture,
  type Setting
} from './picture';
import { domainOf, numberTicks, withZero } from './scale';

const TALL = 13;
const FEW_ROWS = 12;
const MOST_ROWS = 24;
const LONG = 40;
const LANE = 40;

/** Whether bars lie on their sides: names are read that way, as long as there are few; numbers go from left to right. */
export function lies(column: Column | undefined, measure: (text: string) => number, width: number): boolean {
  if (column?.type !== 'name') {
    return false;
  }
  const { labels } = column;
  const numbers = labels.every(label => label.trim() !== '' && Number.isFinite(Number(label)));
  const long = labels.some(label => measure(label) > LONG && measure(label) + GAP > width / labels.length);
  return !numbers && (labels.length <= FEW_ROWS || (labels.length <= MOST_ROWS && long));
}

/** How tall a chart has to be for its bars to have room for their names. */
export function heightOf(drawn: Drawn, measure: (text: string) => number, width: number): number {
  const { x } = drawn.full;
  return drawn.chart.kind === 'bar' && lies(x, measure, width) ? ((x?.labels.length ?? 0) + 1) * (TALL + 3) + 60 : 0;
}

export function bars(drawn: Drawn, setting: Setting): Picture {
  const { x: key, y: length } = drawn.full;
  if (key === undefined || length === undefined) {
    throw new Error('Bars need a key and a length.');
  }
  const lying = lies(key, setting.measure, setting.width);
  const lengths = counted(drawn, 'y', setting.fit);
  const domain = withZero(domainOf(lengths));
  const ticks = numberTicks(domain, setting.height / 40, length.whole).map(each => each.label);
  const area = areaOf(setting, widest(setting, lying ? [...key.labels, 'NULL'] : ticks));
  const reach = { domain, lanes: false } as const;
  const places: readonly [Column, ...Column[]] = [key];
  const along: Axis = lying
    ? axisOf(places, area.top, area.bottom, { gap: TALL, lane: 16 })
    : axisOf(places, area.left, area.right, {
        gap: key.type === 'name' ? Math.min(80, widest(setting, key.labels) + 2 * GAP) : 70,
        lane: LANE,
        wide: true
      });
  const up: Axis = lying
    ? axisOf([length], area.left, area.right, { gap: 60, lane: 0, ...reach })
    : axisOf([length], area.bottom, area.top, { gap: 34, lane: 0, ...reach });
  const zero = placed(up, domain);
  const thick = Math.max(1, along.step - Math.min(4, along.step * 0.2));

  const reachOf = (column: Column, mark: number): number => {
    const value = finite(column, mark);
    const raw = column.nulls?.[mark] === 1 ? NaN : (column.values[mark] ?? NaN);
    return Number.isNaN(value) ? (raw === Infinity ? up.end : raw === -Infinity ? up.from : zero) : up.at(column, mark);
  };
  // In a lane there is less room than between others.
  const share = (mark: number, wide: number): number =>
    key.type !== 'name' && special(key, mark) !== null ? Math.min(wide, LANE * 0.7) : wide;
  const barOf = (column: Column, mark: number): Box => {
    const [at, end] = [along.at(key, mark), reachOf(column, mark)];
    const [low, high] = [Math.min(zero, end), Math.max(zero, end)];
    const half = share(mark, thick) / 2;
    return lying
      ? { left: low, right: high, top: at - half, bottom: at + half }
      : { left: at - half, right: at + half, top: low, bottom: high };
  };
  // What is pointed at: all of the room along a bar, for a short one is hard to hit.
  const room = (mark: number): Box => {
    const at = along.at(key, mark);
    const half = share(mark, Math.max(along.step, 1)) / 2;
    return lying
      ? { left: area.left, right: area.right, top: at - half, bottom: at + half }
      : { left: at - half, right: at + half, top: area.top, bottom: area.bottom };
  };
  const order = Uint32Array.from(key.values, (_, mark) => mark).sort(
    (one, other) => along.at(key, one) - along.at(key, other)
  );
  const sides: Sides = lying
    ? { x: up, y: along, across: length, up: key, grid: ['x'] }
    : { x: along, y: up, across: key, up: length, grid: ['y'] };

  return {
    area,
    draw: (pen, flags) => {
      drawGrid(pen, area, setting, sides);
      const paint = (box: Box, color: string): void => {
        pen.fillStyle = color;
        pen.fillRect(box.left, box.top, Math.max(box.right - box.left, 1), Math.max(box.bottom - box.top, 1));
      };
      pen.save();
      pen.beginPath();
      pen.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      pen.clip();
      const now = left(drawn, 'y') ?? length;
      const behind = !(setting.fit && drawn.now.y !== undefined); // what all rows make is beyond these axes
      for (let mark = 0; mark < drawn.chart.marks; mark += 1) {
        if (behind) {
          paint(barOf(length, mark), css(setting.colors.ghost));
        }
        if (on(flags.lit, mark) && !Number.isNaN(finite(now, mark))) {
          paint(
            barOf(now, mark),
            css(color(drawn, setting, flags, mark), flags.brushed === null || flags.brushed[mark] === 1 ? 1 : 0.45)
          );
        }
      }
      pen.restore();
      drawSides(pen, area, setting, sides);
    },
    hit: (x, y) => order.find(mark => inside(room(mark), x, y)) ?? -1,
    within: box => meeting(drawn.chart.marks, box, room),
    span: box =>
      lying ? { ...box, left: area.left, right: area.right } : { ...box, top: area.top, bottom: area.bottom },
    box: mark => {
      const bar = barOf(length, mark);
      return lying
        ? { ...bar, right: Math.max(bar.right, bar.left + 2) }
        : { ...bar, top: Math.min(bar.top, bar.bottom - 2) };
    },
    next: (mark, direction) => beside(order, mark, direction)
  };
}

/** Where the value zero stands. */
function placed(axis: Axis, [low, high]: readonly [number, number]): number {
  return high > low ? axis.from + ((0 - low) / (high - low)) * (axis.end - axis.from) : axis.from;
}

function color(drawn: Drawn, { colors }: Setting, { brushed }: Flags, mark: number): Rgb {
  const names = drawn.full.color;
  if (brushed?.[mark] === 1) {
    return colors.brushed;
  }
  return names?.type === 'name' ? seriesColor(colors, names.values[mark] ?? -1) : colors.mark;
}

const inside = (box: Box, x: number, y: number): boolean =>
  x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;

/** The mark beside another in an order. */
export function beside(order: Uint32Array, mark: number, direction: Direction): number {
  const by = direction === 'right' || direction === 'down' ? 1 : -1;
  const at = mark < 0 ? -1 : order.indexOf(mark);
  return order[at < 0 ? 0 : Math.min(order.length - 1, Math.max(0, at + by))] ?? -1;
}
