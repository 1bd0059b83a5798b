import { readFileSync } from 'node:fs';
import { expect, spark, test } from './harness';

const SPARK = spark('trace');

const JOB = `%%lineage words
lines = sc.parallelize(["a b", "b c", "<script>alert(1)</script> <img src=x onerror=alert(2)>", "שלום b"], 2)
counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda n, m: n + m, 2)
joined = counts.join(counts.mapValues(lambda n: "x" * n * 300))
found = joined.collect()`;

const VIEW = `import bigdebug
view = bigdebug.view(joined)
view`;

const BUSY = `import time
while True: time.sleep(0.05)`;

test('from an output back to its source lines, while a cell runs, by the keyboard', async ({ desk }) => {
  await desk.open('trace.ipynb', 'bigdebug', [SPARK, JOB, VIEW, 'view.trace.collect()', BUSY]);
  await desk.openPanel();
  await desk.begin();
  for (const cell of [1, 2]) {
    await desk.run(cell);
  }
  const view = desk.page.locator('.bd-trace');
  const rows = view.locator('.bd-records tbody tr');
  await expect(rows).toHaveCount(8);
  await expect(view).toContainText('<script>alert(1)</script>');
  await desk.picture('trace');
  await desk.start(4);
  await rows.filter({ hasText: "'b'" }).getByRole('checkbox').focus();
  await desk.page.keyboard.press('Space');
  await expect(view).toContainText('from 1 chosen record');
  await desk.picture('trace-chosen');
  await view.getByRole('button', { name: 'Sources' }).click();
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(2)).toContainText('שלום b');
  await expect(desk.prompt(4)).toHaveText('[*]:');
  await desk.picture('trace-sources');
  const coming = desk.page.waitForEvent('download');
  await view.getByRole('button', { name: 'CSV' }).click();
  const file = await coming;
  expect(file.suggestedFilename()).toBe('words-parallelize.csv');
  expect(readFileSync(await file.path(), 'utf8')).toContain('"שלום b"');
  await expect(view).toContainText('3 records in words-parallelize.csv');
  await view.getByRole('button', { name: 'flatMap' }).click();
  await expect(rows).toHaveCount(6);
  await desk.interrupt();
  await expect(desk.prompt(4)).toHaveText(/\[\d+\]:/);
  await desk.run(3);
  await expect(desk.page.locator('.jp-Notebook')).toContainText("['a', 'b', 'b', 'c',");
  await view.getByRole('navigation').getByRole('button').first().click();
  await expect(rows).toHaveCount(8);
  await desk.theme('JupyterLab Dark');
  await desk.picture('trace-dark');
});

test('a view outlives its page, and says when its kernel is gone', async ({ desk }) => {
  const held = 'from tests.unit.test_trace_view import RECORDS, view_of\nview = view_of(RECORDS)\nview';
  const mute = 'mute = view_of(RECORDS)\nmute._alone.acquire()\nmute'; // which answers nobody
  await desk.open('held.ipynb', 'python3', [held, mute]);
  await desk.openPanel();
  await desk.begin();
  const view = desk.cell(0).locator('.bd-trace');
  const rows = view.locator('.bd-records tbody tr');
  await expect(rows).toHaveCount(4);
  await rows.nth(1).getByRole('checkbox').check();
  await view.getByRole('button', { name: 'Keep chosen' }).click();
  await expect(rows).toHaveCount(1);
  await desk.cell(0).locator('.cm-content').click();
  await desk.page.keyboard.press('ControlOrMeta+KeyS');
  await expect(desk.page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab.jp-mod-dirty')).toHaveCount(0);
  await desk.page.reload();
  await expect(rows).toHaveCount(1);
  await expect(view.getByRole('navigation').getByRole('button')).toHaveCount(2);
  await desk.run(1);
  const waiting = desk.cell(1).locator('.bd-view');
  await expect(waiting).toContainText('Asking the kernel…');
  await desk.restart();
  await expect(view).toBeVisible();
  await expect(waiting.getByRole('alert')).toContainText('The kernel of this view is gone.');
  await view.getByRole('button', { name: 'Sources' }).click();
  await expect(view.getByRole('alert')).toContainText('The kernel of this view is gone.');
  await desk.picture('trace-gone');
});
