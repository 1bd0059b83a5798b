/** What is around the marks: the axes with their ticks, names and titles, and the room that these take. */
import type { Axis } from './axis';
import { css } from './colors';
import type { Column } from './column';
import type { Box, Setting } from './picture';

export const GAP = 5;
const LINE = 14;
const SHARE = 0.38;
const MEASURED = 200;

/** Room for marks, beside an axis whose longest label is of that width. */
export function areaOf(setting: Setting, labels: number): Box {
  const left = Math.min(labels, setting.width * SHARE) + 2 * GAP;
  return { left, top: LINE + 2 * GAP, right: setting.width - 2 * GAP, bottom: setting.height - 2 * LINE - 2 * GAP };
}

/** The width of the longest of some labels; of very many, only those of the most letters are measured. */
export function widest(setting: Setting, labels: readonly string[]): number {
  const measured =
    labels.length <= MEASURED ? labels : [...labels].sort((one, other) => other.length - one.length).slice(0, MEASURED);
  return measured.reduce((width, label) => Math.max(width, setting.measure(label)), 0);
}

export interface Sides {
  readonly x: Axis;
  readonly y: Axis;
  readonly across: Column | undefined;
  readonly up: Column | undefined;
  /** Which ticks have a line through the area. */
  readonly grid: readonly ('x' | 'y')[];
}

/** The lines that go through the area, to be drawn before the marks. */
export function drawGrid(pen: CanvasRenderingContext2D, area: Box, setting: Setting, { x, y, grid }: Sides): void {
  pen.fillStyle = css(setting.colors.line, 0.55);
  for (const tick of grid.includes('x') ? x.ticks.filter(each => !each.special) : []) {
    pen.fillRect(Math.round(tick.at), area.top, 1, area.bottom - area.top);
  }
  for (const tick of grid.includes('y') ? y.ticks.filter(each => !each.special) : []) {
    pen.fillRect(area.left, Math.round(tick.at), area.right - area.left, 1);
  }
}

/** What is written, and the lines of the axes. */
export function drawSides(pen: CanvasRenderingContext2D, area: Box, setting: Setting, sides: Sides): void {
  const { x, y, across, up } = sides;
  const { colors } = setting;
  pen.font = setting.font;
  pen.fillStyle = css(colors.line);
  pen.fillRect(area.left - 1, area.top, 1, area.bottom - area.top);
  pen.fillRect(area.left - 1, area.bottom, area.right - area.left + 1, 1);
  pen.textBaseline = 'middle';
  for (const { at, label, special } of y.ticks) {
    pen.fillStyle = css(special ? colors.faint : colors.ink, 0.85);
    write(pen, label, area.left - GAP - 1, at, 'right', area.left - 2 * GAP);
  }
  pen.textBaseline = 'top';
  const taken: (readonly [number, number])[] = [];
  // What stands in a lane has its name before the numbers beside it.
  for (const { at, label, special } of [...x.ticks].sort(
    (one, other) => Number(other.special) - Number(one.special) || one.at - other.at
  )) {
    const half = Math.min(pen.measureText(label).width, 90) / 2;
    const middle = Math.max(half + 1, Math.min(at, setting.width - half - 1));
    const [low, high] = [middle - half, middle + half];
    if (taken.every(([from, to]) => high + GAP < from || low > to + GAP)) {
      pen.fillStyle = css(special ? colors.faint : colors.ink, 0.85);
      write(pen, label, middle, area.bottom + GAP, 'center', 90);
      taken.push([low, high]);
    }
  }
  pen.fillStyle = css(colors.faint);
  if (up !== undefined) {
    write(pen, up.name, GAP, 3, 'left', setting.width - 2 * GAP);
  }
  if (across !== undefined) {
    write(pen, across.name, area.right, area.bottom + GAP + LINE, 'right', area.right - GAP);
  }
}

/** A text in a room; one that is too long ends in "…". */
function write(
  pen: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  align: 'left' | 'right' | 'center',
  room: number
): void {
  pen.textAlign = align;
  pen.fillText(
    cut(text, room, each => pen.measureText(each).width),
    x,
    y
  );
}

/** As much of a text as there is room for. */
export function cut(text: string, room: number, measure: (text: string) => number): string {
  if (measure(text) <= room) {
    return text;
  }
  const letters = Array.from(text);
  let [fits, most] = [0, letters.length];
  while (fits < most) {
    const half = Math.ceil((fits + most) / 2);
    if (measure(`${letters.slice(0, half).join('')}…`) <= room) {
      fits = half;
    } else {
      most = half - 1;
    }
  }
  return `${letters.slice(0, fits).join('').trimEnd()}…`;
}
