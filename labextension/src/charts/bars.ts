/** Bars and histograms: a bar for each mark, as long as its number; that of all rows stands faintly behind. */
import { axisOf, positions, type Axis } from './axis';
import { css, seriesColor } from './colors';
import { special, type Column } from './column';
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
import { domainOf, numberTicks, place, withZero, type Domain } from './scale';

const TALL = 13;
const FEW_ROWS = 12;
const MOST_ROWS = 24;
const LONG = 40;
const FADED = 0.45;
const LANE = 40;

/** Whether bars lie on their sides: names are read that way, as long as there are few; numbers go from left to right. */
export function lies(column: Column | undefined, measure: (text: string) => number, width: number): boolean {
  if (column?.type !== 'name') {
    return false;
  }
  const { labels } = column;
  if (labels.length > MOST_ROWS) {
    return false;
  }
  const numbers = labels.every(label => label.trim() !== '' && Number.isFinite(Number(label)));
  const long = labels.some(label => measure(label) > LONG && measure(label) + GAP > width / labels.length);
  return !numbers && (labels.length <= FEW_ROWS || long);
}

/** How tall a chart has to be for its bars to have room for their names. */
export function heightOf(drawn: Drawn, measure: (text: string) => number, width: number): number {
  const { x } = drawn.full;
  return drawn.chart.kind === 'bar' && lies(x, measure, width) ? ((x?.labels.length ?? 0) + 1) * (TALL + 3) + 60 : 0;
}

/** Where bars stand, and how far they reach. */
interface Layout {
  readonly area: Box;
  readonly sides: Sides;
  readonly lying: boolean;
  /** The axis of the keys. */
  readonly along: Axis;
  /** The axis of the lengths. */
  readonly up: Axis;
  readonly zero: number;
}

function layOut(drawn: Drawn, key: Column, length: Column, setting: Setting): Layout {
  const lying = lies(key, setting.measure, setting.width);
  const domain = withZero(domainOf(counted(drawn, 'y', setting.fit)));
  const ticks = numberTicks(domain, setting.height / 26, length.whole).map(each => each.label);
  const area = areaOf(setting, widest(setting, lying ? [...key.labels, 'NULL'] : ticks));
  const reach = { lane: 0, domain, lanes: false } as const;
  if (lying) {
    const along = axisOf([key], area.top, area.bottom, { gap: TALL, lane: 16 });
    const up = axisOf([length], area.left, area.right, { gap: 60, ...reach });
    const sides: Sides = { x: up, y: along, across: length, up: key, grid: ['x'] };
    return { area, sides, lying, along, up, zero: placed(up, domain) };
  }
  const named = key.type === 'name' ? Math.min(80, widest(setting, key.labels) + 2 * GAP) : 0;
  const gap = named > 0 ? named : key.type === 'time' ? 70 : 50;
  const along = axisOf([key], area.left, area.right, { gap, lane: LANE, wide: true });
  const up = axisOf([length], area.bottom, area.top, { gap: 26, ...reach });
  const sides: Sides = { x: along, y: up, across: key, up: length, grid: ['y'] };
  return { area, sides, lying, along, up, zero: placed(up, domain) };
}

export function bars(drawn: Drawn, setting: Setting): Picture {
  const { x: key, y: length } = drawn.full;
  if (key === undefined || length === undefined) {
    throw new Error('Bars need a key and a length.');
  }
  const layout = layOut(drawn, key, length, setting);
  const { area, sides, lying, along } = layout;
  const { marks } = drawn.chart;
  const thick = Math.max(1, along.step - Math.min(4, along.step * 0.2));
  // In a lane there is less room than between others.
  const share = (mark: number, wide: number): number =>
    key.type !== 'name' && special(key, mark) !== null ? Math.min(wide, LANE * 0.7) : wide;
  const across = (mark: number, wide: number, [low, high]: readonly [number, number]): Box => {
    const [at, half] = [along.at(key, mark), share(mark, wide) / 2];
    return lying
      ? { left: low, right: high, top: at - half, bottom: at + half }
      : { left: at - half, right: at + half, top: low, bottom: high };
  };
  const barOf = (column: Column, mark: number): Box => across(mark, thick, reachOf(layout, column, mark));
  // What is pointed at: all of the room along a bar, for a short one is hard to hit.
  const ends: readonly [number, number] = lying ? [area.left, area.right] : [area.top, area.bottom];
  const room = (mark: number): Box => across(mark, Math.max(along.step, 1), ends);
  const now = left(drawn, 'y') ?? length;
  const behind = !(setting.fit && drawn.now.y !== undefined); // what all rows make is beyond axes that fit

  return {
    area,
    draw: (pen, flags) => {
      drawGrid(pen, area, setting, sides);
      pen.save();
      pen.beginPath();
      pen.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      pen.clip();
      const ghost = css(setting.colors.ghost);
      const colorOf = coloring(drawn, setting, flags);
      for (let mark = 0; mark < marks && behind; mark += 1) {
        paint(pen, barOf(length, mark), ghost);
      }
      for (let mark = 0; mark < marks; mark += 1) {
        if (on(flags.lit, mark) && measures(now, mark)) {
          paint(pen, barOf(now, mark), colorOf(mark));
        }
      }
      pen.restore();
      drawSides(pen, area, setting, sides);
    },
    hit: (x, y) => {
      for (let mark = 0; mark < marks; mark += 1) {
        if (inside(room(mark), x, y)) {
          return mark;
        }
      }
      return -1;
    },
    within: box => meeting(marks, box, room),
    span: box =>
      lying ? { ...box, left: area.left, right: area.right } : { ...box, top: area.top, bottom: area.bottom },
    box: mark => barOf(length, mark),
    next: (mark, direction) => beside(inOrder(positions(along, key)), mark, direction)
  };
}

/** From zero to a bar's end. An infinite one is as long as the axis; one of no number has no length. */
function reachOf({ up, zero }: Layout, column: Column, mark: number): readonly [number, number] {
  const what = special(column, mark);
  const end = what === null ? up.at(column, mark) : what === '∞' ? up.end : what === '−∞' ? up.from : zero;
  return [Math.min(zero, end), Math.max(zero, end)];
}

/** Whether a mark has a length. */
function measures(column: Column, mark: number): boolean {
  const what = special(column, mark);
  return what !== 'NULL' && what !== 'NaN';
}

function paint(pen: CanvasRenderingContext2D, box: Box, color: string): void {
  pen.fillStyle = color;
  pen.fillRect(box.left, box.top, Math.max(box.right - box.left, 1), Math.max(box.bottom - box.top, 1));
}

/** The marks in the order of their places. */
export function inOrder(places: Float32Array): Uint32Array {
  return Uint32Array.from(places, (_, mark) => mark).sort((one, other) => (places[one] ?? 0) - (places[other] ?? 0));
}

/** Where the value zero stands. */
function placed(axis: Axis, domain: Domain): number {
  return place(domain, axis.from, axis.end)(0);
}

/** The colour of each bar: what is not brushed fades where anything is. */
function coloring(drawn: Drawn, { colors }: Setting, { brushed }: Flags): (mark: number) => string {
  const names = drawn.full.color;
  const [chosen, plain, faded] = [css(colors.brushed), css(colors.mark), css(colors.mark, FADED)];
  return mark => {
    if (brushed?.[mark] === 1) {
      return chosen;
    }
    return names?.type === 'name'
      ? css(seriesColor(colors, names.values[mark] ?? -1), brushed === null ? 1 : FADED)
      : brushed === null
        ? plain
        : faded;
  };
}

const inside = (box: Box, x: number, y: number): boolean =>
  x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;

/** The mark beside another in an order. */
export function beside(order: Uint32Array, mark: number, direction: Direction): number {
  const by = direction === 'right' || direction === 'down' ? 1 : -1;
  const at = mark < 0 ? -1 : order.indexOf(mark);
  return order[at < 0 ? 0 : Math.min(order.length - 1, Math.max(0, at + by))] ?? -1;
}
