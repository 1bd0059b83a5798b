import { expect, test } from './harness';

// In a home of its own: what the notebooks of other tests did is recorded, too.
const RECORDED = `import os, tempfile
os.environ["BIGDEBUG_HOME"] = tempfile.mkdtemp()
import bigdebug
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from tests.unit.test_datasets_view import CLEAN, FAILED, LOOK, PUBLISH, STRANGE, SUM
store = DatasetStore()
store.record(CLEAN, SUM, PUBLISH, LOOK, FAILED, STRANGE)
view = bigdebug.view(Datasets(store, "app-1"))
view`;

test('datasets are drawn, looked at and followed by column, without Spark', async ({ desk }) => {
  await desk.open('datasets.ipynb', 'bigdebug', [RECORDED, 'view.dataset', '%lineage datasets graph report']);
  await desk.begin(60_000);
  const view = desk.cell(0).locator('.bd-datasets');
  await expect(view.locator('header').first()).toContainText('8 datasets, 4 jobs');
  await view.scrollIntoViewIfNeeded();
  await desk.picture('datasets');
  await view.getByRole('button', { name: /^sales/ }).click();
  await expect(view.locator('.bd-about .bd-summary')).toHaveText('file:/w/shop.sales');
  await view.getByRole('button', { name: 'total', exact: true }).click();
  await expect(view.locator('.bd-following')).toContainText('price of s3://lake/raw/orders.csv');
  await expect(view.locator('.bd-faded').first()).toBeVisible();
  await desk.picture('datasets-column');
  await desk.run(1);
  await expect(desk.output(1)).toContainText('file:/w/shop.sales');
  await view.getByRole('button', { name: 'Only what feeds it and what it feeds' }).click();
  await expect(view.locator('header').first()).toContainText('around sales');
  await desk.run(2);
  const around = desk.cell(2).locator('.bd-datasets');
  await expect(around.locator('.bd-about .bd-summary')).toHaveText('file:/out/report');
  await desk.theme('JupyterLab Dark');
  await around.scrollIntoViewIfNeeded();
  await desk.picture('datasets-dark');
});
