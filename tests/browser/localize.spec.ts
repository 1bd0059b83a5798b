import { expect, test, type Desk } from './harness';

const SPARK = `from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").appName("localize")
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.python.unix.domain.socket.enabled", "true").getOrCreate())
spark.sparkContext.setLogLevel("OFF")`;

// A test of some milliseconds, of 4,000 candidates: to search to the end would take a minute or more.
const JOB = `%%lineage readings
import time
def shop(number):
    return ("<b>oslo</b>" if number % 2 else "שלום"), -1_000_000.0 if number in (701, 3_001) else float(number % 7)
sales = sc.parallelize(range(8_000), 2).map(shop)
totals = sales.groupByKey(2).mapValues(lambda paid: sum(sorted(paid)))
found = totals.collect()`;

const LOCALIZE = `def wrong(output):
    time.sleep(0.05)
    return output[1] < 0
diagnosis = dbg.localize(totals, wrong)
diagnosis`;

const REPLAY = `again = sales.filter(lambda sale: sale[1] >= 0).groupByKey(2).mapValues(lambda paid: sum(sorted(paid)))
with dbg.capture("again"):
    again.collect()
import bigdebug
comparison = bigdebug.view(dbg.compare(totals, again, most=2))
comparison`;

/** Runs the first cell, as often as it takes: a notebook that has just been opened loses keys. */
async function begin(desk: Desk): Promise<void> {
  await desk.openPanel();
  await expect(async () => {
    await desk.start(0);
    await expect(desk.prompt(0)).not.toHaveText('[ ]:', { timeout: 2_000 });
  }).toPass();
  await expect(desk.prompt(0)).toHaveText(/\[\d+\]:/);
}

test('a localization is stopped by its button while the cell is busy, and says so with the best so far', async ({
  desk
}) => {
  await desk.open('localize.ipynb', 'bigdebug', [SPARK, JOB, LOCALIZE, 'diagnosis.incomplete, diagnosis.cost.tests']);
  await begin(desk);
  await desk.run(1);
  await desk.start(2);
  const view = desk.page.locator('.bd-diagnosis');
  await expect(view.locator('.bd-figures')).toBeVisible();
  await expect(view.locator('.bd-figure').first()).not.toHaveText('0');
  await expect(desk.prompt(2)).toHaveText('[*]:');
  await desk.picture('localize-running');
  await view.getByRole('button', { name: 'Stop' }).click();
  await expect(view).toContainText('it was stopped', { timeout: 10_000 });
  await expect(desk.prompt(2)).toHaveText(/\[\d+\]:/);
  await desk.picture('localize-stopped');
  await desk.run(3);
  await expect(desk.output(3)).toContainText("'it was stopped'");
});
