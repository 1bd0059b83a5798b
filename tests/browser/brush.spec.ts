import type { Locator } from '@playwright/test';
import { expect, test, type Desk } from './harness';

const IMPORTS = `from tests.cases.flights import *
from tests.unit.test_brush_view import strange
from bigdebug.views.brushview import BrushView
from bigdebug.views.charting import chart`;

const VIEW = `${IMPORTS}
marks = views_of_flights(20_000)
view = BrushView(marks, [*map(chart, marks[:5]), chart(marks[5], "table")])
view`;

const LEFT = `rows = flights(20_000)
left = rows[rows.carrier.isin(["AA", "B6"]) & (rows.late >= 30)]
shown = {name: view.frame(name) for name in view.names}
print("days agree:", shown["by day"].set_index("day").flights[left.day.unique()].tolist() == left.groupby("day", sort=False).size().tolist(), len(left),
      view.lit("delay by distance").sum(), shown["by carrier"].flights.sum() == (rows.late >= 30).sum())`;

/** Runs the first cell, as often as it takes (a notebook that has just been opened loses keys), and others then; gives the view. */
async function begin(
  desk: Desk,
  name: string,
  cells: readonly string[],
  height = 1200,
  then: readonly number[] = []
): Promise<Locator> {
  await desk.page.setViewportSize({ width: 1500, height });
  await desk.open(name, 'python3', cells);
  await desk.begin(60_000); // Spark may start
  for (const cell of then) {
    await desk.run(cell);
  }
  const view = desk.page.locator('.bd-brush');
  await expect(view.locator('.bd-chart').first()).toBeVisible();
  return view;
}

const card = (view: Locator, name: string): Locator => view.getByRole('region', { name, exact: true });
const plot = (view: Locator, name: string): Locator => card(view, name).locator('.bd-plot');

/** What is drawn now. */
const drawn = (view: Locator, name: string): Promise<string> =>
  plot(view, name)
    .locator('canvas')
    .evaluate(canvas => (canvas as HTMLCanvasElement).toDataURL());

/** Places in a plot, as shares of it. */
async function drag(desk: Desk, over: Locator, from: [number, number], to: [number, number]): Promise<void> {
  const box = await over.boundingBox();
  if (box === null) {
    throw new Error('The plot is not to be seen.');
  }
  const at = ([x, y]: [number, number]): [number, number] => [box.x + box.width * x, box.y + box.height * y];
  await desk.page.mouse.move(...at(from));
  await desk.page.mouse.down();
  await desk.page.mouse.move(...at([(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]), { steps: 4 });
  await desk.page.mouse.move(...at(to), { steps: 4 });
  await desk.page.mouse.up();
}

/** Clicks a lying bar: the area begins below the title of its axis and ends above the ticks. */
async function clickBar(over: Locator, bar: number, bars: number, modifiers: 'Shift'[] = []): Promise<void> {
  const box = await over.boundingBox();
  const height = (box?.height ?? 0) - 24 - 38;
  await over.click({ position: { x: 60, y: 24 + ((bar + 0.5) * height) / bars }, modifiers });
}

test('a bar that is brushed changes the others, brushes combine, and clearing restores', async ({ desk }) => {
  const view = await begin(desk, 'brush.ipynb', [VIEW, LEFT]);
  await expect(view.locator('.bd-chart')).toHaveCount(6);
  const names = ['by delay', 'by day', 'by weekday and hour', 'delay by distance'];
  await expect(card(view, 'by day')).toContainText('365 marks');
  await desk.page.mouse.move(0, 0);
  const before = await Promise.all(names.map(name => drawn(view, name)));
  const carriers = plot(view, 'by carrier');
  await clickBar(carriers, 0, 10);
  await expect(card(view, 'by carrier')).toContainText('1 of 10 brushed');
  await clickBar(carriers, 2, 10, ['Shift']);
  await expect(card(view, 'by carrier')).toContainText('2 of 10 brushed');
  for (const [at, name] of names.entries()) {
    await expect.poll(() => drawn(view, name)).not.toBe(before[at]);
  }
  await expect(card(view, 'carriers').getByRole('row').nth(2)).toContainText('AS0NULLNULLNULL');
  await drag(desk, plot(view, 'by delay'), [0.36, 0.5], [0.99, 0.6]);
  await expect(card(view, 'by delay')).toContainText(/1\d of 14 brushed/);
  await desk.page.mouse.move(0, 0);
  await desk.picture('brush');
  await desk.theme('JupyterLab Dark');
  await desk.picture('brush-dark');
  await desk.theme('JupyterLab Light');
  await view.getByRole('button', { name: 'Highlight' }).click();
  await expect(view.getByRole('button', { name: 'Highlight' })).toHaveAttribute('aria-pressed', 'true');
  await desk.picture('brush-highlight');
  await view.getByRole('button', { name: 'Recompute' }).click();
  await view.getByLabel('Fit axes').check();
  await desk.picture('brush-fit');
  await view.getByLabel('Fit axes').uncheck();
  await desk.run(1);
  await expect(desk.output(1)).toContainText(/days agree: True (\d+) \1 True/);
  await view.getByRole('button', { name: 'Clear by delay' }).click();
  await expect(card(view, 'by delay')).toContainText('14 marks');
  await view.getByRole('button', { name: 'Clear all' }).click();
  await expect(view.getByRole('button', { name: 'Clear all' })).toBeDisabled();
  await desk.page.mouse.move(0, 0);
  for (const [at, name] of names.entries()) {
    await expect.poll(() => drawn(view, name)).toBe(before[at]);
  }
});

test('views are brushed by the keyboard, and by Python while a cell runs', async ({ desk }) => {
  const later = `import time
view.brush("by carrier", lambda frame: frame.carrier.isin(["DL", "WN"]))
while len(view.selection.clauses) < 2: time.sleep(0.05)
print("brushed", sorted(view.selection.clauses), view.frame("by carrier").flights.sum())`;
  const view = await begin(desk, 'keys.ipynb', [VIEW, later]);
  const carriers = plot(view, 'by carrier');
  await carriers.focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'Space', 'ArrowDown', 'ArrowDown', 'Space']) {
    await desk.page.keyboard.press(key);
  }
  await expect(card(view, 'by carrier')).toContainText('2 of 10 brushed');
  await expect(card(view, 'by carrier').locator('.bd-spoken')).toHaveText(/^carrier DL, flights [\d,]+, brushed$/);
  await expect(view.getByRole('tooltip')).toContainText(/carrierDL.*rows/);
  await desk.picture('brush-keys');
  await desk.page.keyboard.press('Escape');
  await expect(card(view, 'by carrier')).toContainText('10 marks');
  await expect(card(view, 'by carrier')).not.toContainText('brushed');
  await desk.start(1);
  await expect(card(view, 'by carrier')).toContainText('2 of 10 brushed');
  await expect(desk.prompt(1)).toHaveText('[*]:');
  await card(view, 'carriers').getByRole('checkbox').nth(3).focus();
  await desk.page.keyboard.press('Space');
  await expect(card(view, 'carriers')).toContainText('1 of 10 brushed');
  await expect(desk.output(1)).toContainText(/brushed \['by carrier', 'carriers'\] \d+/);
  await card(view, 'carriers').getByRole('button', { name: 'miles' }).click();
  await expect(card(view, 'carriers').getByRole('columnheader', { name: 'miles' })).toHaveAttribute(
    'aria-sort',
    'descending'
  );
});

const STRANGE = `${IMPORTS}
import numpy as np, pandas as pd
rows = flights(4_000)
many = pd.DataFrame({"place": [f"place {each % 900}" for each in range(4_000)], "x": np.arange(4_000) % 60, "y": np.arange(4_000) % 55})
one, other = grouped("one mark", rows[:1], ["carrier"]), grouped("none", rows[:0], ["carrier"])
print(BrushView([one]).table().text())
display(strange(), BrushView([other]))
BrushView([grouped("places", many, ["place"]), grouped("map", many, ["x", "y"]), grouped("lines", rows.assign(west=rows.carrier > "D"), ["day", "west"])])`;

test('whatever values are, they are shown rightly and harmlessly, also twice as large', async ({ desk }) => {
  const view = (await begin(desk, 'strange.ipynb', [STRANGE], 1800)).first();
  await expect(card(view, 'rows')).toContainText('<script>alert(1)</script>');
  await plot(view, 'by word').focus();
  await desk.page.keyboard.press('ArrowDown');
  await expect(view.getByRole('tooltip')).toContainText('<script>alert(1)</script>');
  await desk.page.keyboard.press('Space');
  await expect(card(view, 'by word')).toContainText('1 of 5 brushed');
  await expect(card(view, 'by word')).toContainText('The median is not recomputed.');
  await expect(desk.page.locator('.bd-brush').nth(1)).toContainText('No marks.');
  await desk.picture('brush-strange');
  await desk.page.setViewportSize({ width: 750, height: 600 }); // 200 % of 1500 by 1200
  await view.scrollIntoViewIfNeeded();
  await expect(card(view, 'by word')).toContainText('1 of 5 brushed');
  await desk.picture('brush-zoomed');
});

const SPARK = `from pyspark.sql import SparkSession, functions as F
spark = (SparkSession.builder.master("local[2]").appName("brush")
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "2").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
%load_ext bigdebug`;

const JOBS = `%%lineage
flights = spark.range(20_000).select(
    F.element_at(F.array(*map(F.lit, ["AA", "B6", "DL", "UA"])), (F.col("id") * 7 % 11 % 4 + 1).cast("int")).alias("carrier"),
    F.date_add(F.lit("2013-01-01").cast("date"), (F.col("id") % 100).cast("int")).alias("day"),
    (F.col("id") * 31 % 97 - 10).alias("delay"))
flights.createOrReplaceTempView("flights")
carriers = spark.sql("select carrier, count(*) flights, avg(delay) mean_delay from flights group by carrier")
days = spark.sql("select day, count(*) flights from flights group by day order by day")
delays = spark.sql("select delay div 10 * 10 late, count(*) flights from flights group by 1")
for each in (carriers, days, delays): each.collect()`;

const BRUSH = `import bigdebug
late = spark.sql("select carrier, round(sum(if(delay > 30, 1, 0)) / count(*) * 100, 1) percent_late from flights group by carrier")
view = bigdebug.brush(bigdebug.chart(carriers, name="by carrier"), bigdebug.chart(days, "line", name="by day"), delays, bigdebug.chart(late, name="late"))
view`;

const AGREES = `left = spark.sql("select day, count(*) flights from flights where carrier = 'AA' group by day order by day").toPandas()
shown = view.frame("by day")
print("agrees:", shown[shown.flights > 0].reset_index(drop=True).equals(left), len(left))
view.clear()
view.brush("by day", lambda frame: frame.index < 20)
left = spark.sql("select carrier, round(sum(if(delay > 30, 1, 0)) / count(*) * 100, 1) percent_late from flights where day < '2013-01-21' group by carrier").toPandas()
print("percents agree:", dict(view.frame("late").values) == dict(left.values), len(left))`;

test('DataFrames of a notebook are brushed, and show what their queries give on the rows that are left', async ({
  desk
}) => {
  const view = await begin(desk, 'spark.ipynb', [SPARK, JOBS, BRUSH, AGREES], 1000, [1, 2]);
  await expect(view.locator('.bd-chart')).toHaveCount(4);
  await expect(view.locator('.bd-chart .bd-note')).toHaveCount(0);
  await expect(card(view, 'by day')).toContainText('100 marks');
  const before = await drawn(view, 'by day');
  await plot(view, 'by carrier').focus();
  for (const key of ['ArrowDown', 'Space', 'Escape', 'Space']) {
    await desk.page.keyboard.press(key);
  }
  await expect(card(view, 'by carrier')).toContainText('1 of 4 brushed');
  await expect.poll(() => drawn(view, 'by day')).not.toBe(before);
  await desk.picture('brush-spark');
  await view.getByRole('button', { name: 'Show the rows behind the brush' }).click();
  const behind = view.locator('.bd-behind');
  await expect(behind).toContainText('are behind the brush');
  await expect(behind.locator('tbody tr')).toHaveCount(50);
  await behind.scrollIntoViewIfNeeded();
  await desk.picture('brush-rows');
  await desk.run(3);
  await expect(behind.locator('tbody tr')).toHaveCount(0); // they belong to the brush before
  await expect(desk.output(3)).toContainText(/agrees: True [1-9]\d*/);
  await expect(desk.output(3)).toContainText('percents agree: True 4');
  await desk.openPanel();
  await expect(desk.panel.locator('.bd-session')).toContainText('3 runs of');
  await desk.panel.getByText('1 DataFrame only asked about').click();
  await expect(desk.panel.locator('details .bd-run')).toContainText('carrier, percent_late');
  await desk.picture('brush-asked');
  await desk.theme('JupyterLab Dark');
  await desk.picture('brush-asked-dark');
});

const LARGE = `${IMPORTS}
rows = flights(100_000)
late = lambda name, keys, made=COUNT: grouped(name, rows, keys, made)
view = BrushView([each_row("flights", rows, ["distance", "delay"]), late("by carrier", ["carrier"]), late("by day", ["day"]), late("by hour", ["hour"], COUNT | {"mean delay": mean_delay})])
view`;

// P11 of MEASURES: printed and not asserted, for what else the machine does is not known. From a hand's move until the frame in which all views have
// answered is painted: message to the kernel, rows of the marks in the box, message back, and four charts drawn, of which one has 100,000 marks.
test('100,000 marks are brushed, each step of a drag and at its end', async ({ desk }) => {
  const view = await begin(desk, 'large.ipynb', [LARGE]);
  await expect(card(view, 'flights')).toContainText('100,000 marks');
  await desk.page.evaluate(() => {
    const taken: number[] = [];
    Object.assign(window, { taken });
    new PerformanceObserver(list => {
      taken.push(...list.getEntriesByName('bigdebug.brush').map(each => each.duration));
    }).observe({ type: 'measure' });
  });
  const taken = (): Promise<number[]> =>
    desk.page.evaluate(() => [...(window as unknown as { taken: number[] }).taken].sort((one, other) => one - other));
  await drag(desk, plot(view, 'flights'), [0.2, 0.3], [0.6, 0.8]);
  await expect(card(view, 'flights')).toContainText(/[\d,]{6,} of 100,000 brushed/);
  await desk.picture('brush-large');
  for (const [from, to] of [
    [0.3, 0.9],
    [0.15, 0.5],
    [0.1, 0.95]
  ] as const) {
    await drag(desk, plot(view, 'flights'), [from, 0.2], [to, 0.85]);
  }
  await drag(desk, plot(view, 'by day'), [0.2, 0.5], [0.7, 0.5]);
  await expect(card(view, 'by day')).toContainText(/\d+ of 365 brushed/);
  await desk.page.waitForTimeout(500);
  const steps = await taken();
  const say = (share: number): string => (steps[Math.floor((steps.length - 1) * share)] ?? NaN).toFixed(0);
  console.log(
    `P11: 100,000 marks, ${steps.length} brushes: half within ${say(0.5)} ms, 95 % within ${say(0.95)} ms, the slowest ${say(1)} ms`
  );
  expect(steps.length).toBeGreaterThan(4);
});
