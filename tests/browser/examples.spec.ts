import { expect, test } from './harness';

/** The last cell of the example, which stops Spark. */
const LAST = 29;

test.setTimeout(400_000);

test('the example of the storm runs from top to bottom in the notebook, and finds its line', async ({ desk, lab }) => {
  await desk.page.goto(lab.example('flights.ipynb', 'flights_data.py'));
  await expect(desk.page.locator('.jp-Notebook-ExecutionIndicator[data-status=idle]')).toBeVisible();
  await desk.openPanel();
  await desk.runAll(LAST);
  const traced = desk.cell(17);
  await traced.scrollIntoViewIfNeeded();
  await expect(traced).toContainText('weather.csv:1011');
  await expect(traced).toContainText('911.000 knots');
  await expect(desk.panel).toContainText('which has been stopped');
  await expect(desk.page.locator('.jp-OutputArea-output[data-mime-type*=error]')).toHaveCount(0);
  await desk.picture('examples-flights');
});
