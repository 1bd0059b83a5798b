/** What all kinds of charts are: a picture of marks that says where they are, so that a person can point at them. */
import type { Charted } from '../brushing';
import type { Column, Columns } from './column';
import type { Colors } from './colors';

/** Which marks are lit, and which are brushed. */
export interface Flags {
  /** Flags of the marks that share rows with what is brushed elsewhere; null for all. */
  readonly lit: Uint8Array | null;
  /** Flags of the marks that are brushed here; null if nothing is. */
  readonly brushed: Uint8Array | null;
}

/** A chart with what its marks show. */
export interface Drawn extends Flags {
  readonly chart: Charted;
  /** What all rows make. */
  readonly full: Columns;
  /** What the rows make that are left. */
  readonly now: Columns;
}

/** Where, and in what, a chart is drawn. Sizes are pixels of styles. */
export interface Setting {
  readonly width: number;
  readonly height: number;
  /** Pixels of the screen for one of styles. */
  readonly ratio: number;
  readonly colors: Colors;
  readonly font: string;
  /** How wide a text is. */
  readonly measure: (text: string) => number;
  /** Whether the axes end where the rows that are left do. */
  readonly fit: boolean;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export type Direction = 'left' | 'right' | 'up' | 'down';

/** A picture hangs on what its marks show, and not on which of them are lit or brushed: that is drawn. */
export interface Picture {
  readonly area: Box;
  draw(pen: CanvasRenderingContext2D, flags: Flags): void;
  /** The mark at a place; -1 if there is none. */
  hit(x: number, y: number): number;
  /** Flags of the marks within a box. */
  within(box: Box): Uint8Array;
  /** A box as far as a brush counts: bars have none along their lengths. */
  span(box: Box): Box;
  /** Where a mark is. */
  box(mark: number): Box;
  /** The mark beside another; the first one beside -1. */
  next(mark: number, direction: Direction): number;
}

/** What is left of a column under a brush: that of all rows if it does not follow. */
export function left(drawn: Drawn, role: 'x' | 'y' | 'color'): Column | undefined {
  return drawn.now[role] ?? drawn.full[role];
}

/** The columns that an axis has room for. */
export function counted(drawn: Drawn, role: 'x' | 'y' | 'color', fit: boolean): Column[] {
  const [full, now] = [drawn.full[role], drawn.now[role]];
  return [...(full === undefined || (fit && now !== undefined) ? [] : [full]), ...(now === undefined ? [] : [now])];
}

export const on = (flags: Uint8Array | null, mark: number): boolean => flags === null || flags[mark] === 1;

/** The marks whose boxes meet another, or whose middles are in it. */
export function meeting(marks: number, box: Box, boxOf: (mark: number) => Box): Uint8Array {
  const flags = new Uint8Array(marks);
  for (let mark = 0; mark < marks; mark += 1) {
    const each = boxOf(mark);
    flags[mark] =
      each.right >= box.left && each.left <= box.right && each.bottom >= box.top && each.top <= box.bottom ? 1 : 0;
  }
  return flags;
}

/** The nearest mark in a direction, among places; straight ahead is nearer than aside. */
export function nearest(
  mark: number,
  direction: Direction,
  x: Float32Array,
  y: Float32Array,
  drawn: (mark: number) => boolean
): number {
  const [along, across] = direction === 'left' || direction === 'right' ? [x, y] : [y, x];
  const sign = direction === 'right' || direction === 'down' ? 1 : -1;
  const [a, b] = [along[mark] ?? NaN, across[mark] ?? NaN];
  let [found, best] = [mark, Infinity];
  for (let other = 0; other < x.length; other += 1) {
    if (!drawn(other)) {
      continue;
    }
    if (Number.isNaN(a)) {
      return other;
    }
    const ahead = ((along[other] ?? NaN) - a) * sign;
    const aside = Math.abs((across[other] ?? NaN) - b);
    // Marks at one place come before all others, by their numbers.
    const same = ahead === 0 && aside === 0 && (other - mark) * sign > 0;
    const distance = same ? Math.abs(other - mark) - x.length : ahead > 0 ? ahead + aside * 3 : Infinity;
    if (distance < best) {
      [found, best] = [other, distance];
    }
  }
  return found;
}
