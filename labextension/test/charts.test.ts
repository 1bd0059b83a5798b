import { expect, it, test } from 'vitest';
import { axisOf, leastStep, positions } from '../src/charts/axis';
import { bars } from '../src/charts/bars';
import { pictureOf } from '../src/charts/chart';
import type { Colors } from '../src/charts/colors';
import { specials, type Column } from '../src/charts/column';
import { cut } from '../src/charts/frame';
import { nearest, type Drawn, type Setting } from '../src/charts/picture';
import { discOf, Raster } from '../src/charts/raster';
import { domainOf, numberTicks, padded, place, timeTicks } from '../src/charts/scale';
import { quantity, tick } from '../src/charts/words';
import { between } from '../src/view/usebrushing';

const numbers = (values: readonly (number | null)[], more: Partial<Column> = {}): Column => ({
  name: 'n',
  type: 'number',
  whole: false,
  recomputed: false,
  values: Float64Array.from(values, each => each ?? NaN),
  nulls: values.includes(null) ? Uint8Array.from(values, each => +(each === null)) : null,
  labels: [],
  ...more
});

const named = (codes: readonly number[], labels: readonly string[]): Column => ({
  ...numbers([]),
  name: 'name',
  type: 'name',
  values: Int32Array.from(codes),
  labels
});

const GREY = [128, 128, 128] as const;
const COLORS: Colors = {
  back: GREY,
  ink: GREY,
  faint: GREY,
  line: GREY,
  mark: GREY,
  ghost: GREY,
  brushed: GREY,
  low: GREY,
  middle: GREY,
  high: GREY,
  series: [GREY]
};
const SETTING: Setting = {
  width: 400,
  height: 300,
  ratio: 1,
  colors: COLORS,
  font: '12px sans-serif',
  measure: text => text.length * 7,
  fit: false
};

function drawn(kind: Drawn['chart']['kind'], full: Drawn['full'], more: Partial<Drawn> = {}): Drawn {
  const marks = (full.x ?? full.y)?.values.length ?? 0;
  return {
    chart: { name: kind, kind, marks, channels: {}, follows: true, columns: [], left: 0, notes: [] },
    full,
    now: {},
    lit: null,
    brushed: null,
    ...more
  };
}

const marked = (flags: Uint8Array): number[] => [...flags.keys()].filter(mark => flags[mark] === 1);

// ---- scales --------------------------------------------------------------------------------------------------------

it.each([
  [[0, 100], 5, false, ['0', '20', '40', '60', '80', '100']],
  [[0, 3], 10, true, ['0', '1', '2', '3']],
  [[-1, 1], 4, false, ['−1', '−0.5', '0', '0.5', '1']],
  [[0, 2.4e6], 4, false, ['0', '1M', '2M']],
  [[0.001, 0.002], 2, false, ['0.001', '0.0015', '0.002']],
  [[5, 5], 4, false, ['5']],
  [[0, 0], 4, true, ['0']],
  [[0, 1e-9], 2, false, ['0', '5.000e−10', '1.000e−9']]
] as const)('%j has round ticks', (domain, most, whole, labels) => {
  expect(numberTicks(domain, most, whole).map(each => each.label)).toEqual(labels);
});

test('the widest domains have ticks within them, and no end of them is none', () => {
  for (const domain of [
    [-1.7e308, 1.7e308],
    [1e308, 1.1e308],
    [-1e-300, 1e-300],
    [1e15, 1e15 + 1]
  ] as const) {
    for (const { value, label } of numberTicks(domain, 5, false)) {
      expect(value).toBeGreaterThanOrEqual(domain[0]);
      expect(value).toBeLessThanOrEqual(domain[1]);
      expect(label).not.toContain('Infinity');
    }
    expect(place(domain, 0, 100)(domain[1])).toBeCloseTo(100);
  }
});

const day = (text: string): number => Date.parse(`${text}Z`);

it.each([
  ['2013-01-01T00:00', '2013-12-31T00:00', 5, ['Jan 2013', 'Apr', 'Jul', 'Oct']],
  ['2012-11-01T00:00', '2013-02-15T00:00', 4, ['Nov 2012', 'Dec', '2013', 'Feb']],
  ['1990-06-01T00:00', '2026-01-01T00:00', 4, ['2000', '2010', '2020']],
  ['2026-03-01T00:00', '2026-03-03T00:00', 3, ['1 Mar 2026', '2 Mar', '3 Mar']],
  ['2026-03-01T22:00', '2026-03-02T01:00', 4, ['1 Mar', '23:00', '2 Mar', '01:00']]
])('from %s to %s the calendar has ticks', (low, high, most, labels) => {
  expect(timeTicks([day(low), day(high)], most).map(each => each.label)).toEqual(labels);
});

test('moments at the ends of all calendars do not hang', () => {
  expect(timeTicks([-8.64e15, 8.64e15], 5).length).toBeLessThan(20);
  expect(timeTicks([1e300, 2e300], 5).length).toBeLessThan(200);
  expect(timeTicks([0, 0], 5).length).toBeLessThan(3);
});

test('numbers are written as a reader expects them', () => {
  expect([1234567, 0.1 + 0.2, -5, 1e20, 1e-7, 0].map(quantity)).toEqual([
    '1,234,567',
    '0.3',
    '−5',
    '1.000e20',
    '1.000e−7',
    '0'
  ]);
  expect(tick(25_000, 5_000)).toBe('25K');
});

test('what has no place between others has a lane at the end of the axis', () => {
  const column = numbers([1, null, NaN, Infinity, -Infinity, 3]);
  expect(specials(column)).toEqual(['−∞', '∞', 'NaN', 'NULL']);
  const axis = axisOf([column], 0, 500, { gap: 50, lane: 40 });
  expect([...positions(axis, column)]).toEqual([0, 480, 440, 400, 360, 340]);
  expect(axis.ticks.filter(each => each.special).map(each => each.label)).toEqual(['−∞', '∞', 'NaN', 'NULL']);
  expect(axis.end).toBe(340);
});

test('an axis of names has a place for each, and one for NULL', () => {
  const column = named([1, 0, -1], ['a', 'b']);
  const axis = axisOf([column], 0, 300, { gap: 20, lane: 0 });
  expect([...positions(axis, column)]).toEqual([150, 50, 250]);
  expect(axisOf([named([], [])], 0, 300, { gap: 20, lane: 0 }).ticks).toEqual([]);
});

test('domains leave out what is no number', () => {
  expect(domainOf([numbers([null, NaN, Infinity]), undefined])).toEqual([0, 0]);
  expect(domainOf([numbers([2, null, 7]), numbers([-1])])).toEqual([-1, 7]);
  expect(padded([3, 3], 0)).toEqual([1.5, 4.5]);
  expect(leastStep(numbers([4, 1, 1, 2.5, NaN]))).toBe(1.5);
  expect(leastStep(numbers([1]))).toBe(0);
});

// ---- what is pointed at --------------------------------------------------------------------------------------------

test('bars are hit in all of their room, brushed by intervals, and gone through in their order', () => {
  const picture = bars(drawn('bar', { x: named([2, 0, 1, -1], ['a', 'b', 'c']), y: numbers([5, 1, 0, 3]) }), SETTING);
  const middle = (mark: number): [number, number] => {
    const { left, top, bottom } = picture.box(mark);
    return [left + 1, (top + bottom) / 2];
  };
  expect([0, 1, 2, 3].map(mark => picture.hit(...middle(mark)))).toEqual([0, 1, 2, 3]);
  expect(picture.hit(picture.area.right - 1, middle(2)[1])).toBe(2);
  expect(picture.hit(0, 0)).toBe(-1);
  const box = picture.span({ left: 100, right: 101, top: middle(1)[1], bottom: middle(2)[1] });
  expect(marked(picture.within(box))).toEqual([1, 2]);
  const way = [picture.next(-1, 'down')];
  for (let at = 0; at < 4; at += 1) {
    way.push(picture.next(way.at(-1)!, 'down'));
  }
  expect(way).toEqual([1, 2, 0, 3, 3]);
  expect(picture.next(2, 'up')).toBe(1);
});

test('a bar of nothing has no length, and one of the largest number there is ends in the chart', () => {
  for (const lengths of [[0], [0, 0], [-0, null], [null, NaN]]) {
    const picture = bars(
      drawn('bar', { x: named([...lengths.keys()], ['a', 'b'].slice(0, lengths.length)), y: numbers(lengths) }),
      SETTING
    );
    lengths.forEach((_, mark) => {
      const { left, right } = picture.box(mark);
      expect(right - left).toBeLessThan(1);
    });
  }
  const largest = bars(drawn('bar', { x: named([0, 1], ['a', 'b']), y: numbers([Number.MAX_VALUE, 1]) }), SETTING);
  const [{ left, right }, small] = [largest.box(0), largest.box(1)];
  expect(right - left).toBeGreaterThan(100);
  expect(small.right - small.left).toBeLessThan(1);
  expect(padded([-Number.MAX_VALUE, Number.MAX_VALUE], 1e308)).toEqual([-Number.MAX_VALUE, Number.MAX_VALUE]);
});

test('an axis on which there are only lanes has no numbers', () => {
  const axis = axisOf([numbers([null, NaN])], 0, 300, { gap: 50, lane: 40 });
  expect(axis.ticks.map(each => each.label)).toEqual(['NaN', 'NULL']);
  expect(axis.ticks.map(each => each.at)).toEqual([75, 225]);
  expect(axis.step).toBe(40);
});

test('a histogram has bars of one width, and NULL and NaN beside', () => {
  const picture = bars(
    drawn('histogram', { x: numbers([0, 10, 40, null, NaN]), y: numbers([5, 1, null, 3, Infinity]) }),
    SETTING
  );
  const wide = [0, 1, 2, 3, 4].map(mark => picture.box(mark).right - picture.box(mark).left);
  expect(new Set(wide.slice(0, 3).map(Math.round)).size).toBe(1);
  expect(picture.box(4).left).toBeGreaterThan(picture.box(2).right);
  expect(picture.box(4).top).toBeCloseTo(picture.area.top, 0);
  expect(marked(picture.within(picture.area))).toEqual([0, 1, 2, 3, 4]);
});

const PLACES = { x: numbers([0, 10, 10, null]), y: numbers([0, 10, 0, 5]) };

test('points are hit near, and brushed by a box', () => {
  const picture = pictureOf(drawn('scatter', PLACES), SETTING)!;
  const at = (mark: number): [number, number] => {
    const { left, right, top, bottom } = picture.box(mark);
    return [(left + right) / 2, (top + bottom) / 2];
  };
  expect([0, 1, 2, 3].map(mark => picture.hit(at(mark)[0] + 3, at(mark)[1] - 3))).toEqual([0, 1, 2, 3]);
  expect(picture.hit(at(0)[0] + 30, at(0)[1] - 30)).toBe(-1);
  const [x, y] = at(1);
  expect(marked(picture.within({ left: x - 5, right: x + 5, top: y - 5, bottom: y + 5 }))).toEqual([1]);
  expect([picture.next(0, 'right'), picture.next(2, 'up'), picture.next(2, 'left'), picture.next(-1, 'up')]).toEqual([
    2, 3, 0, 0
  ]);
});

test('marks at one place are gone through one after the other', () => {
  const [x, y] = [new Float32Array([5, 5, 5, 9]), new Float32Array([5, 5, 5, 5])];
  expect([0, 1, 2].map(mark => nearest(mark, 'right', x, y, () => true))).toEqual([1, 2, 3]);
  expect([3, 2, 1].map(mark => nearest(mark, 'left', x, y, () => true))).toEqual([0, 1, 0]);
});

test('the cells of a heat map touch, and are brushed by a box', () => {
  const cells = {
    x: named([0, 1, 0, 1], ['a', 'b']),
    y: named([0, 0, 1, -1], ['p', 'q']),
    color: numbers([1, 2, null, 4])
  };
  const picture = pictureOf(drawn('heat', cells), SETTING)!;
  expect(picture.box(0).right).toBeCloseTo(picture.box(1).left);
  const { left, right, top, bottom } = picture.box(3);
  expect(picture.hit((left + right) / 2, (top + bottom) / 2)).toBe(3);
  expect(marked(picture.within(picture.area))).toEqual([0, 1, 2, 3]);
  expect(picture.next(0, 'right')).toBe(1);
  expect(picture.next(1, 'down')).toBe(3);
});

test('a line is brushed by intervals, whatever its height', () => {
  const picture = pictureOf(drawn('line', { x: numbers([3, 1, 2]), y: numbers([0, 100, null]) }), SETTING)!;
  const at = (mark: number): number => (picture.box(mark).left + picture.box(mark).right) / 2;
  expect(marked(picture.within({ left: at(1) - 1, right: at(2) + 1, top: 0, bottom: 1 }))).toEqual([1, 2]);
  expect(picture.hit(at(2) + 2, picture.area.top)).toBe(2);
  expect([picture.next(1, 'right'), picture.next(0, 'right')]).toEqual([2, 0]);
});

it.each(['bar', 'histogram', 'line', 'scatter', 'heat'] as const)(
  'a %s chart of one mark, and of none, is a chart',
  kind => {
    for (const count of [0, 1]) {
      const x = kind === 'bar' ? named(count === 0 ? [] : [0], ['a']) : numbers(Array<number>(count).fill(7));
      const value = numbers(Array<number>(count).fill(7));
      const picture = pictureOf(drawn(kind, { x, y: value, color: value }), SETTING)!;
      expect(marked(picture.within(picture.area))).toHaveLength(count);
      expect(picture.next(-1, 'right')).toBe(count - 1);
    }
  }
);

test('what is brushed is between two places, and within the area', () => {
  const area = { left: 10, right: 90, top: 10, bottom: 90 };
  expect(between({ x: 50, y: 200 }, { x: -5, y: 20 }, area)).toEqual({ left: 10, right: 50, top: 20, bottom: 90 });
});

// ---- pixels --------------------------------------------------------------------------------------------------------

test('discs are put where they belong, and what is outside is left out', () => {
  const raster = new Raster(9, 9, [0, 0, 0]);
  raster.disc(4.5, 4.5, discOf(2, 1), [255, 0, 0]);
  raster.disc(-1, 30, discOf(2, 1), [0, 255, 0]);
  raster.disc(NaN, 2, discOf(2, 1), [0, 0, 255]);
  const red = (x: number, y: number): number => raster.data[(y * 9 + x) * 4]!;
  expect([red(4, 4), red(4, 0), red(0, 4)]).toEqual([255, 0, 0]);
  const others = raster.data.filter((_, at) => at % 4 === 1 || at % 4 === 2);
  expect(others.some(each => each > 0)).toBe(false);
});

test('a long label ends in dots, and a short one does not', () => {
  const measure = (text: string): number => text.length;
  expect(cut('abcdef', 6, measure)).toBe('abcdef');
  expect(cut('abcdefg', 6, measure)).toBe('abcde…');
  expect(cut('abc', 0, measure)).toBe('…');
});
