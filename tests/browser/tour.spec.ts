import { expect, test } from './harness';

/** Cells of the tour, by what they do. */
const CRASH = 4;
const CULPRITS = 6;
const TRACE = 12;
const LOCALIZE = 14;
const BRUSH = 18;

test.setTimeout(600_000);

test('the tour, from top to bottom, and everything in it to be touched', async ({ desk, lab }) => {
  await desk.page.goto(lab.example('tour.ipynb', 'flights_data.py'));
  await expect(desk.page.locator('.jp-Notebook-ExecutionIndicator[data-status=idle]')).toBeVisible();
  await desk.openPanel();
  await desk.runAll(BRUSH);
  const runs = desk.panel.locator('.bd-run');
  await expect(runs.filter({ hasText: '9,431 culprits' })).not.toHaveCount(0);
  await desk.picture('tour-runs');

  const crashes = desk.cell(CULPRITS).locator('.bd-crashes');
  await crashes.scrollIntoViewIfNeeded();
  await expect(crashes).toContainText('9,431 culprits');
  await crashes.getByRole('button', { name: 'Skip all', exact: true }).click();
  await crashes.getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(crashes.getByRole('table', { name: 'Result' }).locator('tbody tr')).toHaveCount(16);
  await desk.picture('tour-crash');

  const trace = desk.cell(TRACE).locator('.bd-trace');
  await trace.scrollIntoViewIfNeeded();
  const rows = trace.locator('.bd-records tbody tr');
  await expect(rows).toHaveCount(10);
  await rows.filter({ hasText: "'AS'" }).getByRole('checkbox').check();
  await trace.getByRole('button', { name: 'Sources' }).click();
  await expect(trace.getByRole('navigation').getByRole('button')).toHaveCount(2);
  await trace.locator('.bd-tabs').getByRole('button', { name: 'weather' }).click();
  await expect(rows).toHaveCount(24);
  await expect(trace).toContainText('weather.csv');
  await desk.picture('tour-trace');

  const brush = desk.cell(BRUSH).locator('.bd-brush');
  await brush.scrollIntoViewIfNeeded();
  const chart = (name: string) => brush.getByRole('region', { name, exact: true });
  const plot = chart('airlines').locator('.bd-plot');
  await expect(plot).toBeVisible();
  const box = await plot.boundingBox();
  const days = chart('days').locator('canvas');
  const drawn = (): Promise<string> => days.evaluate(canvas => (canvas as HTMLCanvasElement).toDataURL());
  const before = await drawn();
  await plot.click({ position: { x: (box?.width ?? 0) * 0.72, y: (box?.height ?? 0) / 2 } });
  await expect(chart('airlines')).toContainText('1 of 16 brushed');
  await expect.poll(drawn).not.toBe(before);
  await brush.scrollIntoViewIfNeeded();
  await desk.picture('tour-brush');
  await desk.page.keyboard.press('Escape');
  await desk.page.mouse.move(0, 0);
  await expect.poll(drawn).toBe(before);

  await desk.start(LOCALIZE);
  const live = desk.cell(LOCALIZE).locator('.bd-diagnosis').first();
  await live.getByRole('button', { name: 'Stop' }).click();
  await expect(live).toContainText('it was stopped');
  await expect(desk.prompt(LOCALIZE)).toHaveText(/\[\d+\]:/);
  await expect(desk.cell(LOCALIZE).getByText('it was stopped').locator('visible=true')).toHaveCount(1);
  await live.scrollIntoViewIfNeeded();
  await desk.picture('tour-stopped');

  await desk.restart();
  await expect(runs).toHaveCount(0);
  for (const cell of [1, 2]) {
    await desk.run(cell);
  }
  await desk.start(CRASH);
  await expect(runs.filter({ hasText: 'culprit' })).toHaveCount(1);
  await desk.picture('tour-restarted');
  await desk.page.reload();
  await expect(runs.filter({ hasText: 'culprit' })).toHaveCount(1);
  await desk.picture('tour-reloaded');
});
