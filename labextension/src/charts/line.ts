/** Lines: the marks of each series from left to right; what all rows make is a faint line behind. A mark without a number leaves a gap. */
import { axisOf, positions } from './axis';
import { css, seriesColor } from './colors';
import { finite, special, type Column } from './column';
import { areaOf, drawGrid, drawSides, widest, type Sides } from './frame';
import { counted, left, on, type Box, type Drawn, type Picture, type Setting } from './picture';
import { around } from './points';
import { domainOf, numberTicks, withZero } from './scale';
import { beside, inOrder } from './bars';

/** Marks further apart than this, in pixels, have a dot each. */
const APART = 9;

/** More dots than this are not told apart. */
const MOST_DOTS = 2_000;

export function line(drawn: Drawn, setting: Setting): Picture {
  const { x, y: full } = drawn.full;
  const lengths = counted(drawn, 'y', setting.fit);
  const now = left(drawn, 'y');
  if (x === undefined || full === undefined || now === undefined) {
    throw new Error('A line needs two axes.');
  }
  const domain = full.type === 'number' ? withZero(domainOf(lengths)) : domainOf(lengths);
  const labels = numberTicks(domain, setting.height / 26, full.whole).map(each => each.label);
  const area = areaOf(setting, widest(setting, labels));
  const sides: Sides = {
    x: axisOf([x], area.left, area.right, { gap: 70, lane: 40 }),
    y: axisOf([full], area.bottom, area.top, { gap: 26, lane: 0, domain, lanes: false }),
    across: x,
    up: full,
    grid: ['y']
  };
  const placesX = positions(sides.x, x);
  const [behind, front] = [positions(sides.y, full), positions(sides.y, now)];
  const { marks } = drawn.chart;
  const order = inOrder(placesX);
  const series = seriesOf(drawn.full.color, order, marks);
  const dotted = marks > 0 && (area.right - area.left) / (marks / series.length) > APART;
  const alone = (mark: number): boolean => special(x, mark) !== null;
  const place = (mark: number): number => {
    const at = front[mark] ?? NaN;
    return Number.isNaN(at) ? (Number.isNaN(behind[mark]) ? area.bottom : (behind[mark] ?? area.bottom)) : at;
  };

  return {
    area,
    draw: (pen, { lit, brushed }) => {
      const { colors } = setting;
      drawGrid(pen, area, setting, sides);
      pen.save();
      pen.beginPath();
      pen.rect(area.left - 3, area.top - 3, area.right - area.left + 6, area.bottom - area.top + 4);
      pen.clip();
      pen.lineJoin = 'round';
      const filtered = lit !== null;
      for (const [name, those] of series.entries()) {
        const own = drawn.full.color === undefined ? colors.mark : seriesColor(colors, name);
        const dim = brushed === null ? 1 : 0.45;
        const there = (mark: number): boolean => joined(drawn, now, lit, mark);
        const chosen = (mark: number): boolean => brushed?.[mark] === 1 && there(mark);
        if (filtered && !(setting.fit && drawn.now.y !== undefined)) {
          trace(pen, { marks: those, x: placesX, y: behind, alone, dotted }, () => true, css(colors.ghost), 1.5);
        }
        trace(pen, { marks: those, x: placesX, y: front, alone, dotted }, there, css(own, dim), 1.75);
        if (brushed !== null) {
          trace(pen, { marks: those, x: placesX, y: front, alone, dotted: true }, chosen, css(colors.brushed), 2.5);
        }
      }
      pen.restore();
      drawSides(pen, area, setting, sides);
    },
    hit: (atX, atY) => {
      let [found, best] = [-1, Infinity];
      for (let mark = 0; mark < marks; mark += 1) {
        // Along the axis first: a line is as high as the chart to the hand.
        const distance = Math.abs((placesX[mark] ?? NaN) - atX) * 1e3 + Math.abs(place(mark) - atY);
        if (distance < best) {
          [found, best] = [mark, distance];
        }
      }
      return best < 20e3 ? found : -1;
    },
    within: box => {
      const flags = new Uint8Array(marks);
      for (let mark = 0; mark < marks; mark += 1) {
        const at = placesX[mark] ?? NaN;
        flags[mark] = at >= box.left && at <= box.right ? 1 : 0;
      }
      return flags;
    },
    span: (box): Box => ({ ...box, top: area.top, bottom: area.bottom }),
    box: mark => around(placesX[mark] ?? NaN, place(mark), 4),
    next: (mark, direction) => beside(order, mark, direction)
  };
}

/** Whether a mark is part of the line of what is left: a count of nothing is zero, a mean of nothing is a gap. */
function joined(drawn: Drawn, now: Column, lit: Uint8Array | null, mark: number): boolean {
  return !Number.isNaN(finite(now, mark)) && (on(lit, mark) || drawn.now.y !== undefined);
}

/** The marks of each series, from left to right. */
function seriesOf(column: Column | undefined, order: Uint32Array, marks: number): number[][] {
  if (column?.type !== 'name') {
    return [[...order].filter(mark => mark < marks)];
  }
  const found: number[][] = Array.from({ length: column.labels.length + 1 }, () => []);
  for (const mark of order) {
    const name = column.values[mark] ?? -1;
    found[name < 0 ? column.labels.length : name]?.push(mark);
  }
  return found;
}

/** A line through marks, in their order. */
interface Way {
  readonly marks: readonly number[];
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** Marks in a lane beside the axis: no line leads to them. */
  readonly alone: (mark: number) => boolean;
  readonly dotted: boolean;
}

function trace(
  pen: CanvasRenderingContext2D,
  { marks, x, y, alone, dotted }: Way,
  shown: (mark: number) => boolean,
  color: string,
  width: number
): void {
  pen.strokeStyle = pen.fillStyle = color;
  pen.lineWidth = width;
  pen.beginPath();
  let down = false;
  const dots: number[] = [];
  for (const mark of marks) {
    const [atX, atY] = [x[mark] ?? NaN, y[mark] ?? NaN];
    if (!shown(mark) || Number.isNaN(atX) || Number.isNaN(atY)) {
      down = false;
      continue;
    }
    const lone = alone(mark);
    if (down && !lone) {
      pen.lineTo(atX, atY);
    } else {
      pen.moveTo(atX, atY);
    }
    down = !lone;
    if (dotted || lone) {
      dots.push(mark);
    }
  }
  pen.stroke();
  for (const mark of dots.slice(0, MOST_DOTS)) {
    pen.beginPath();
    pen.arc(x[mark] ?? 0, y[mark] ?? 0, width + 0.5, 0, 2 * Math.PI);
    pen.fill();
  }
}
