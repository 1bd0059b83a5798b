import { expect, spark, test } from './harness';

const SPARK = spark('localize');

// A test of some milliseconds, of 4,000 candidates: a search to its end would take half a minute.
const JOB = `%%lineage readings
import time
def paid(number):
    return ("<b>oslo</b>" if number % 2 else "שלום"), -1e6 if number in (701, 3_001) else float(number % 7)
totals = sc.parallelize(range(8_000), 2).map(paid).groupByKey(2).mapValues(lambda paid: sum(sorted(paid)))
found = totals.collect()`;

const LOCALIZE = `def wrong(output):
    time.sleep(0.03)
    return output[1] < 0
diagnosis = dbg.localize(totals, wrong)
diagnosis`;

const VIEW = `import bigdebug
search = bigdebug.Search()
bigdebug.view(search)`;

const REPLAY = `import bigdebug
sales = [("oslo", 4.0), ("oslo", -999.0), ("rome", 3.0), ("<img src=x onerror=alert(1)>", -1.0), ("שלום", 2.5), ("שלום", -7.0)]
def row(city, paid):
    return city, len(paid), "paid " + ", ".join(map(str, sorted(paid)))
report = sc.parallelize(sales, 2).groupByKey(2).map(lambda sale: row(*sale))
with dbg.capture("report"):
    report.collect()
clean = report.getLineage().goBackAll().where(lambda sale: sale[1] < 0).replay(exclude=True)
view = bigdebug.view(dbg.compare(report, clean))
view`;

test('a localization is stopped by its button while the cell is busy, and says so with the best so far', async ({
  desk
}) => {
  await desk.open('localize.ipynb', 'bigdebug', [
    SPARK,
    JOB,
    LOCALIZE,
    VIEW,
    'dbg.localize(totals, wrong, search=search)',
    'dbg.localize(totals, wrong)'
  ]);
  await desk.openPanel();
  await desk.begin();
  await desk.run(1);
  await desk.start(2);
  const live = desk.cell(2).locator('.bd-diagnosis');
  await expect(live.locator('.bd-figure').nth(3)).toHaveText('2 records');
  await expect(desk.prompt(2)).toHaveText('[*]:');
  await live.scrollIntoViewIfNeeded();
  await desk.picture('localize-running');
  await live.getByRole('button', { name: 'Stop' }).click();
  await expect(live).toContainText('Not all was looked at: it was stopped.', { timeout: 5_000 });
  await expect(live.locator('.bd-fault tbody tr')).toHaveText([/701/, /3001/]);
  await expect(desk.prompt(2)).toHaveText(/\[\d+\]:/);
  await expect(desk.output(2).last()).toContainText('Not all was looked at: it was stopped.');
  await live.getByText('How the search went').click();
  await live.scrollIntoViewIfNeeded();
  await desk.picture('localize-stopped');

  // A view that was made before the search, in another cell.
  await desk.run(3);
  const before = desk.cell(3).locator('.bd-diagnosis');
  await expect(before).toContainText('has not begun');
  await desk.start(4);
  await expect(before.locator('.bd-figure').first()).toHaveText(/[1-9]/);
  await before.getByRole('button', { name: 'Stop' }).click();
  await expect(before).toContainText('Not all was looked at: it was stopped.', { timeout: 5_000 });
  await expect(desk.prompt(4)).toHaveText(/\[\d+\]:/);
  await expect(desk.cell(4).locator('.bd-diagnosis')).toHaveCount(0);

  // The kernel's interruption ends a search as well.
  await desk.start(5);
  const last = desk.cell(5).locator('.bd-diagnosis');
  await expect(last.locator('.bd-figure').first()).toHaveText(/[1-9]/);
  await desk.interrupt();
  await expect(last).toContainText('Not all was looked at: it was interrupted.');
  await desk.theme('JupyterLab Dark');
  await live.scrollIntoViewIfNeeded();
  await desk.picture('localize-dark');
});

test('a replay stands beside the run, with what is different marked and the inputs behind it', async ({ desk }) => {
  await desk.open('replay.ipynb', 'bigdebug', [SPARK, REPLAY, 'view.frame()[["change", "_1 before"]]']);
  await desk.openPanel();
  await desk.begin();
  await desk.run(1);
  const view = desk.cell(1).locator('.bd-comparison');
  await expect(view.locator('tbody th')).toHaveText(['changed', 'changed', 'removed']);
  await expect(view.locator('.bd-before mark').first()).toContainText('2');
  await expect(view).toContainText('<img src=x onerror=alert(1)>');
  await view.scrollIntoViewIfNeeded();
  await desk.picture('replay');
  await view.getByRole('button', { name: 'removed 1' }).click();
  await expect(view.locator('tbody th')).toHaveText(['removed']);
  await desk.run(2);
  await expect(desk.output(2)).toContainText('removed');
  await expect(desk.output(2)).not.toContainText('changed');
  await view.getByRole('button', { name: 'all 3' }).click();
  await expect(view.locator('tbody th')).toHaveCount(3);
  await desk.theme('JupyterLab Dark');
  await view.scrollIntoViewIfNeeded();
  await desk.picture('replay-dark');
});
