import { expect, test } from './harness';

const SPARK = `from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").appName("nightly <b>report</b>")
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.python.unix.domain.socket.enabled", "true").getOrCreate())
spark.sparkContext.setLogLevel("OFF")`;

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

test('the panel lists the runs of the open notebook, and what crashed in them', async ({ desk }) => {
  await desk.open('work.ipynb', 'bigdebug', [SPARK, JOB, CRASH, BUSY]);
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
  await desk.theme('JupyterLab Light'); // settings are the server's
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
  await desk.close('first.ipynb');
  await desk.page.reload();
  await expect(desk.panel).toContainText('second.ipynb');
  await expect(desk.panel).toContainText('No Spark session has been started in this kernel.');
  await desk.run(0);
  await expect(desk.output(0)).toHaveText('1'); // the kernel keeps nothing for pages that have gone
});
