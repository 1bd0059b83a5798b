/** Heat maps: a cell for each mark, in the colour of its number; cells that share no row with a brush are faint. */
import { axisOf, positions } from './axis';
import { mix } from './colors';
import { finite } from './column';
import { areaOf, drawSides, widest, type Sides } from './frame';
import { left, meeting, nearest, on, type Box, type Drawn, type Picture, type Setting } from './picture';
import { coloring } from './points';
import { domainOf, numberTicks } from './scale';
import { Raster } from './raster';

export function heat(drawn: Drawn, setting: Setting): Picture {
  const { x, y } = drawn.full;
  if (x === undefined || y === undefined) {
    throw new Error('A heat map needs two axes.');
  }
  const labels =
    y.type === 'name' ? y.labels : numberTicks(domainOf([y]), setting.height / 20, y.whole).map(each => each.label);
  const area = areaOf(setting, widest(setting, [...labels, 'NULL', ...(y.type === 'time' ? ['30 Sept 2026'] : [])]));
  const gap = x.type === 'name' ? Math.min(80, widest(setting, x.labels) + 10) : x.type === 'time' ? 70 : 40;
  const sides: Sides = {
    x: axisOf([x], area.left, area.right, { gap, lane: 40, wide: true }),
    // Names are read from the top.
    y:
      y.type === 'name'
        ? axisOf([y], area.top, area.bottom, { gap: 13, lane: 18 })
        : axisOf([y], area.bottom, area.top, { gap: 20, lane: 18, wide: true }),
    across: x,
    up: y,
    grid: []
  };
  const [placesX, placesY] = [positions(sides.x, x), positions(sides.y, y)];
  const [width, height] = [Math.max(1, sides.x.step), Math.max(1, sides.y.step)];
  const boxOf = (mark: number): Box => {
    const [atX, atY] = [placesX[mark] ?? NaN, placesY[mark] ?? NaN];
    return { left: atX - width / 2, right: atX + width / 2, top: atY - height / 2, bottom: atY + height / 2 };
  };
  const { marks } = drawn.chart;

  return {
    area,
    draw: (pen, { lit, brushed }) => {
      const { ratio, colors } = setting;
      const { raster, left: left0, top: top0 } = Raster.of(area, setting);
      const colorOf = coloring(drawn, setting);
      const value = left(drawn, 'color');
      const thin = Math.min(width, height) * ratio < 4;
      for (let mark = 0; mark < marks; mark += 1) {
        const box = boxOf(mark);
        const [x0, x1] = [box.left * ratio - left0, box.right * ratio - left0 - (thin ? 0 : 1)];
        const [y0, y1] = [box.top * ratio - top0, box.bottom * ratio - top0 - (thin ? 0 : 1)];
        const shown = on(lit, mark) && (value === undefined || !Number.isNaN(finite(value, mark)));
        const own = shown ? colorOf(mark) : mix(colors.back, colors.ghost, 0.5);
        const chosen = brushed !== null && brushed[mark] === 1;
        raster.rect(
          x0,
          y0,
          Math.max(x1, x0 + 1),
          Math.max(y1, y0 + 1),
          brushed === null || chosen ? own : mix(own, colors.back, 0.55)
        );
        if (chosen) {
          if (thin) {
            raster.rect(x0, y0, Math.max(x1, x0 + 1), Math.max(y1, y0 + 1), colors.brushed, 0.4);
          } else {
            raster.edge(x0, y0, x1, y1, Math.max(1, Math.round(1.5 * ratio)), colors.brushed);
          }
        }
      }
      raster.put(pen, left0, top0);
      drawSides(pen, area, setting, sides);
    },
    hit: (atX, atY) => {
      for (let mark = 0; mark < marks; mark += 1) {
        if (
          Math.abs((placesX[mark] ?? NaN) - atX) <= width / 2 &&
          Math.abs((placesY[mark] ?? NaN) - atY) <= height / 2
        ) {
          return mark;
        }
      }
      return -1;
    },
    within: box => meeting(marks, box, boxOf),
    span: box => box,
    box: boxOf,
    next: (mark, direction) =>
      nearest(
        mark,
        direction,
        placesX,
        placesY,
        other => !Number.isNaN(placesX[other]) && !Number.isNaN(placesY[other])
      )
  };
}
