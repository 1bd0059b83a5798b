import { expect, spark, test } from './harness';

const SPARK = spark('nightly <b>report</b>');

const JOB = `%%lineage "word count"
lines = sc.parallelize(["a b", "b c", "<script>alert(1)</script> <img src=x onerror=alert(2)>"], 2)
counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda n, m: n + m, 2)
sorted(counts.collect())`;

const CRASH = `%%lineage "<img src=x onerror=alert(3)>"
try:
    sc.parallelize(["1", "2", "<script>alert(4)</script>"], 2).map(int).collect()
except Exception:
    print(len(dbg.runs[-1].culprits))`;

const BUSY = `%%lineage "while busy"
spark.range(1000).selectExpr("id % 7 as day").groupBy("day").count().collect()
import time
while True: time.sleep(0.05)`;

const WATCH = `numbers = sc.parallelize([(n, "<b>" + "x" * (n % 9)) for n in range(4000)], 2)
def slowly(pair):
    time.sleep(0.2 if pair[0] % 50 == 49 else 0.01)
    return pair
watched = numbers.map(slowly)
watch = dbg.watch(watched, lambda pair: 1 // (pair[0] % 70) >= 0 and pair[0] % 7 == 3, slow=3.0, timeout=0.15)
watched.count()`;

test('the panel lists the runs of the open notebook, and what crashed in them', async ({ desk }) => {
  await desk.open('work.ipynb', 'bigdebug', [SPARK, JOB, CRASH, BUSY, WATCH, 'watch.stop()']);
  await desk.openPanel();
  await expect(desk.panel).toContainText('No run has been captured yet.');
  for (const cell of [0, 1, 2]) {
    await desk.run(cell);
  }
  const runs = desk.panel.locator('.bd-run');
  await expect(runs).toHaveCount(2);
  await expect(desk.panel).toContainText('2 runs of the Spark session nightly <b>report</b>');
  await expect(runs.nth(0)).toContainText('1 culprit');
  await expect(runs.nth(1)).toContainText('3 records in · 7 outputs');
  await runs.nth(1).getByRole('button').click();
  await expect(runs.nth(1).locator('.bd-operators')).toContainText('reduceByKey');
  await runs.nth(0).getByRole('button').click();
  await expect(runs.nth(0).locator('.bd-causes')).toContainText('<script>alert(4)</script>');
  await runs.nth(1).getByRole('button', { name: 'Show its cell' }).click();
  await expect(desk.cell(1)).toHaveClass(/jp-mod-active/);
  await desk.picture('panel');

  await desk.start(3);
  await expect(runs).toHaveCount(3);
  await runs.nth(0).getByRole('button').click();
  await expect(runs.nth(0).locator('.bd-operators')).toContainText('aggregator');
  await expect(desk.prompt(3)).toHaveText('[*]:');
  await desk.interrupt();
  await expect(desk.prompt(3)).toHaveText(/\[\d+\]:/);
  await desk.theme('JupyterLab Dark');
  await expect(runs.nth(0).locator('.bd-operators')).toBeVisible();
  await desk.picture('panel-dark');

  await desk.start(4);
  const watches = desk.panel.locator('.bd-watches');
  await expect(watches).toContainText('Watch on map');
  await expect(watches.locator('.bd-record').first()).toContainText("'<b>");
  await expect(watches).toContainText('slow records');
  await expect(watches).toContainText('the guard raised');
  await expect(desk.prompt(4)).toHaveText('[*]:');
  await desk.picture('panel-watch-dark');
  await desk.theme('JupyterLab Light'); // settings are the server's
  await desk.picture('panel-watch');
  await desk.interrupt();
  await expect(desk.prompt(4)).toHaveText(/\[\d+\]:/);
  await desk.run(5);
  await expect(watches).toHaveCount(0);

  const crash = runs.filter({ hasText: 'alert(3)' });
  await crash.getByRole('button', { name: 'Culprits' }).click();
  await expect(desk.page.locator('.bd-main')).toContainText('<script>alert(4)</script>');
  await desk.picture('panel-culprits');
  await crash.getByRole('button', { name: 'Records' }).click();
  await expect(desk.page.locator('.bd-main .bd-trace')).toBeVisible();
  await desk.picture('panel-records');

  await desk.panel.getByRole('button', { name: 'Open datasets' }).click();
  const datasets = desk.page.locator('.bd-main .bd-datasets');
  await expect(datasets.locator('header').first()).toContainText(/\d+ datasets?, \d+ jobs?/); // of all notebooks that the tests opened by then
  await desk.picture('panel-datasets');
});

test('a kernel without bigdebug is told of, and looked at again when a cell has loaded it', async ({ desk }) => {
  await desk.open('plain.ipynb', 'python3', ['1 + 1', '%load_ext bigdebug', '%unload_ext bigdebug']);
  await desk.openPanel();
  await expect(desk.panel.getByRole('alert')).toContainText('bigdebug is not loaded in this kernel');
  await desk.picture('absent');
  await desk.run(0);
  await expect(desk.panel.getByRole('alert')).toContainText('%load_ext bigdebug');
  await desk.run(1);
  await expect(desk.panel).toContainText('No Spark session has been started in this kernel.');
  await desk.run(2);
  await expect(desk.panel.getByRole('alert')).toContainText('bigdebug is not loaded in this kernel');
});

test('the panel is empty after a restart, and goes on', async ({ desk }) => {
  await desk.open('again.ipynb', 'bigdebug', ['6 * 7']);
  await desk.say('Show Runs and Culprits');
  await expect(desk.panel).toContainText('No Spark session has been started in this kernel.');
  await desk.restart();
  await expect(desk.panel).toContainText('No Spark session has been started in this kernel.');
  await desk.run(0);
});

const PANELS = `import comm
sum(each.target_name == "bigdebug.events" for each in comm.get_comm_manager().comms.values())`;

test('two notebooks on one kernel, and a page that is loaded again, have the same panel', async ({ desk, lab }) => {
  await desk.open('first.ipynb', 'bigdebug', ['6 * 7']);
  lab.notebook('second.ipynb', 'bigdebug', [PANELS]);
  await lab.share('first.ipynb', 'second.ipynb');
  await desk.openPanel();
  await desk.also('second.ipynb');
  await expect(desk.panel).toContainText('second.ipynb');
  await expect(desk.panel).toContainText('No Spark session has been started in this kernel.');
  // The kernel keeps nothing for what has gone: a page that is loaded soon after may have the first notebook again.
  const asManyAsOpen = async (): Promise<void> => {
    await desk.run(0);
    const open = await desk.tab('.ipynb').count();
    await expect(desk.output(0)).toHaveText(String(open), { timeout: 1_000 });
  };
  await desk.close('first.ipynb');
  await expect(asManyAsOpen).toPass();
  await desk.page.reload();
  await expect(desk.panel).toContainText('second.ipynb');
  await expect(desk.panel).toContainText('No Spark session has been started in this kernel.');
  await expect(asManyAsOpen).toPass();
});
