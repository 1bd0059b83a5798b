/** Scatter plots: a disc for each mark; those that are left are drawn over all. */
import { axisOf, positions } from './axis';
import { mix, ramp, seriesColor, type Rgb } from './colors';
import { finite, type Column } from './column';
import { areaOf, drawSides, widest, type Sides } from './frame';
import { counted, left, nearest, on, type Box, type Drawn, type Picture, type Setting } from './picture';
import { domainOf, numberTicks, padded, type Domain } from './scale';
import { discOf, Raster } from './raster';

/** So near to a mark, in pixels, it is pointed at. */
const NEAR = 10;

export function points(drawn: Drawn, setting: Setting): Picture {
  const [x, y] = [left(drawn, 'x'), left(drawn, 'y')];
  const [across, up] = [counted(drawn, 'x', setting.fit), counted(drawn, 'y', setting.fit)];
  if (x === undefined || y === undefined || !some(across) || !some(up)) {
    throw new Error('Points need two axes.');
  }
  const [wide, tall] = [roomy(across), roomy(up)];
  const labels = numberTicks(tall, setting.height / 26, y.whole).map(each => each.label);
  const area = areaOf(setting, widest(setting, [...labels, 'NULL', ...(y.type === 'time' ? ['30 Sept 2026'] : [])]));
  const sides: Sides = {
    x: axisOf(across, area.left, area.right, { gap: x.type === 'time' ? 70 : 55, lane: 40, ...ends(across, wide) }),
    y: axisOf(up, area.bottom, area.top, { gap: 26, lane: 18, ...ends(up, tall) }),
    across: x,
    up: y,
    grid: ['x', 'y']
  };
  const [placesX, placesY] = [positions(sides.x, x), positions(sides.y, y)];
  const { marks } = drawn.chart;
  const radius = marks <= 500 ? 3.5 : marks <= 5_000 ? 2.5 : marks <= 30_000 ? 1.75 : 1.25;
  const seen = (mark: number): boolean => !Number.isNaN(placesX[mark]) && !Number.isNaN(placesY[mark]);

  return {
    area,
    draw: (pen, { lit, brushed }) => {
      const { ratio, colors } = setting;
      const { raster, left: left0, top: top0 } = Raster.of(area, setting);
      grid(raster, sides, setting, left0, top0);
      const disc = discOf(radius * ratio, marks <= 500 ? 0.85 : marks <= 30_000 ? 0.6 : 0.4);
      const firm = discOf(radius * ratio, 0.9);
      const paint = (mark: number, color: Rgb, how = disc): void => {
        raster.disc((placesX[mark] ?? 0) * ratio - left0, (placesY[mark] ?? 0) * ratio - top0, how, color);
      };
      const colorOf = coloring(drawn, setting);
      // Three layers: what shares no row with a brush elsewhere, what is left, and of that what is brushed here.
      for (let mark = 0; mark < marks && lit !== null; mark += 1) {
        if (seen(mark) && !on(lit, mark)) {
          paint(mark, colors.ghost);
        }
      }
      for (let mark = 0; mark < marks; mark += 1) {
        if (seen(mark) && on(lit, mark) && brushed?.[mark] !== 1) {
          paint(mark, brushed === null ? colorOf(mark) : mix(colorOf(mark), colors.back, 0.55));
        }
      }
      for (let mark = 0; mark < marks && brushed !== null; mark += 1) {
        if (seen(mark) && on(lit, mark) && brushed[mark] === 1) {
          paint(mark, drawn.full.color === undefined ? colors.brushed : colorOf(mark), firm);
        }
      }
      raster.put(pen, left0, top0);
      drawSides(pen, area, setting, sides);
    },
    hit: (atX, atY) => {
      let [found, best] = [-1, NEAR * NEAR];
      for (let mark = 0; mark < marks; mark += 1) {
        const distance = ((placesX[mark] ?? NaN) - atX) ** 2 + ((placesY[mark] ?? NaN) - atY) ** 2;
        if (distance <= best) {
          [found, best] = [mark, distance];
        }
      }
      return found;
    },
    within: box => {
      const flags = new Uint8Array(marks);
      for (let mark = 0; mark < marks; mark += 1) {
        const [atX, atY] = [placesX[mark] ?? NaN, placesY[mark] ?? NaN];
        flags[mark] = atX >= box.left && atX <= box.right && atY >= box.top && atY <= box.bottom ? 1 : 0;
      }
      return flags;
    },
    span: box => box,
    box: mark => around(placesX[mark] ?? NaN, placesY[mark] ?? NaN, radius + 1),
    next: (mark, direction) => nearest(mark, direction, placesX, placesY, seen)
  };
}

const some = (columns: readonly Column[]): columns is readonly [Column, ...Column[]] => columns.length > 0;

/** Ends of an axis with some room, so that no disc is cut. */
function roomy(columns: readonly Column[]): Domain {
  const [low, high] = domainOf(columns);
  return padded([low, high], (high / 2 - low / 2) * 0.06);
}

/** Moments stand where they are; numbers have room around. */
function ends(columns: readonly Column[], domain: Domain): { domain: Domain } | Record<string, never> {
  return columns[0]?.type === 'name' ? {} : { domain };
}

export function around(x: number, y: number, radius: number): Box {
  return { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius };
}

/** Lines through the pixels where ticks are. */
export function grid(raster: Raster, { x, y }: Sides, { ratio, colors }: Setting, left0: number, top0: number): void {
  for (const tick of x.ticks) {
    const at = Math.round(tick.at * ratio) - left0;
    raster.rect(at, 0, at + Math.ceil(ratio), raster.height, colors.line, 0.55);
  }
  for (const tick of y.ticks) {
    const at = Math.round(tick.at * ratio) - top0;
    raster.rect(0, at, raster.width, at + Math.ceil(ratio), colors.line, 0.55);
  }
}

/** The colour of each mark, by what is left of its column. */
export function coloring(drawn: Drawn, setting: Setting): (mark: number) => Rgb {
  const { colors } = setting;
  const column = left(drawn, 'color');
  if (column === undefined) {
    return () => colors.mark;
  }
  if (column.type === 'name') {
    return mark => seriesColor(colors, column.values[mark] ?? -1);
  }
  const [low, high] = domainOf(counted(drawn, 'color', setting.fit));
  return mark => {
    const value = finite(column, mark);
    return Number.isNaN(value) ? colors.faint : ramp(colors, high > low ? (value - low) / (high - low) : 1);
  };
}
