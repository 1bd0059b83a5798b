import { expect, spark, test } from './harness';

const SPARK = spark('many');

const JOB = `%%lineage "a million"
numbers = sc.parallelize(range(1_000_000), 2).map(lambda n: (n % 1000, n))
numbers.count()`;

const VIEW = `import bigdebug
view = bigdebug.view(numbers)
view`;

// P11 of MEASURES, its second half: printed and not asserted, for what else the machine does is not known.
test('a run of a million outputs is looked at, and its view says when Spark is gone and what to do', async ({
  desk
}) => {
  await desk.open('run.ipynb', 'bigdebug', [SPARK, JOB, VIEW, 'spark.stop()', SPARK, JOB, VIEW]);
  await desk.begin();
  await desk.run(1);
  const timed = async (what: string, doing: () => Promise<void>): Promise<string> => {
    const began = performance.now();
    await doing();
    return `${what} ${(performance.now() - began).toFixed(0)} ms`;
  };
  const run = desk.panel.locator('.bd-run').first();
  const rows = desk.page.locator('.bd-main .bd-records tbody tr');
  const taken = [
    await timed('the panel', async () => {
      await desk.openPanel();
      await run.waitFor();
    }),
    await timed('its operators', async () => {
      await run.getByRole('button').click();
      await run.locator('.bd-operators').waitFor();
    }),
    await timed('the trace view with its first records', async () => {
      await run.getByRole('button', { name: 'Records', exact: true }).click();
      await rows.first().waitFor();
    })
  ];
  console.log(`P11: a run of 1,000,000 outputs: ${taken.join(', ')}`);
  await expect(desk.page.locator('.bd-main')).toContainText('1,000,000 records');
  await expect(rows).toHaveCount(50);

  await desk.goTo('run.ipynb');
  await desk.run(2);
  const view = desk.output(2).locator('.bd-trace');
  await expect(view.locator('tbody tr')).toHaveCount(50);
  await desk.run(3);
  await expect(desk.panel).toContainText('which has been stopped');
  await view.getByRole('button', { name: 'Later' }).click();
  await expect(view.getByRole('alert')).toContainText('the SparkContext has been stopped');
  await desk.picture('trace-stopped');
  await view.getByRole('button', { name: 'Look again' }).click();
  await expect(view.getByRole('alert')).toContainText('run the job again');
  await desk.run(4);
  await desk.run(5);
  await desk.run(6);
  const anew = desk.output(6).locator('.bd-trace');
  await anew.getByRole('button', { name: 'Later' }).click();
  await expect(anew).toContainText('records 51 to 100');
  await expect(desk.panel).toContainText('1 run of the Spark session many');
});
