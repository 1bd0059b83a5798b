import { join } from 'node:path';
import { expect, spark, test } from './harness';

const SPARK = spark('culprits');

const CRASH = `%%lineage flights
from operator import add
from pathlib import Path
Path("flights.csv").write_text("".join(f"AA,{n},on time\\n" for n in range(20)) + "AA,NA,late\\nDL,7,שלום\\n"
    "DL,,<script>alert(1)</script>\\nUA,none\\nUA,30,<img src=x onerror=alert(2)>\\nDL,-,late\\n")

def delay(flight):
    carrier, minutes, note = flight
    return carrier, int(minutes)

flights = sc.textFile("flights.csv", 2).map(lambda line: tuple(line.split(",")))
flights.map(delay).reduceByKey(add).collect()`;

const VIEW = `import bigdebug
view = bigdebug.view(dbg.runs[-1])
len(view.culprits) # on a slow machine, more than the exception waited for
view`;

const FRAME = `%%lineage rows
from pyspark.sql.functions import col
frame = spark.read.csv("flights.csv", schema="carrier string, minutes string, note string")
frame.select("carrier", col("minutes").cast("int").alias("minutes")).toPandas()`;

const FIX = `def delay(flight):
    carrier, minutes, *note = flight
    return carrier, int(minutes) if minutes.isdigit() else 0`;

const BUSY = `import time
while True: time.sleep(0.05)`;

test('culprits are looked at, repaired and skipped, and the run is resumed while a cell runs', async ({ desk }) => {
  const cells = [SPARK, CRASH, VIEW, 'sorted(view.resumed.result)', FRAME, VIEW, BUSY, FIX];
  await desk.open('culprits.ipynb', 'bigdebug', cells);
  await desk.openPanel();
  await desk.begin();
  await desk.run(1);
  await desk.run(2);
  const view = desk.page.locator('.bd-crashes').first();
  const picture = (name: string): Promise<unknown> =>
    view.screenshot({ path: join(import.meta.dirname, 'pictures', `${name}.png`), animations: 'disabled' });
  await expect(view).toContainText('4 culprits of flights, 2 causes');
  await expect(view.locator('.bd-sources')).toContainText('flights.csv:21');
  await desk.picture('culprits');
  await picture('culprits-view');
  await view.getByRole('button', { name: 'What do they have in common?' }).click();
  await expect(view.locator('.bd-common')).toContainText(
    'No record of the input is known to be behind several of them.'
  );

  await desk.start(6);
  await view.locator('.bd-culprits button').nth(1).click();
  await expect(view.locator('.bd-fields')).toContainText('<script>alert(1)</script>');
  await view.getByRole('button', { name: 'Repair it…' }).click();
  await view.getByRole('textbox', { name: '_2' }).fill('eight');
  await picture('culprits-repair');
  await view.getByRole('button', { name: 'Put it in its place' }).click();
  await expect(view.locator('.bd-fields ins')).toContainText("'eight'");
  await view.locator('.bd-resume').getByRole('button', { name: 'Skip all others' }).click();
  await expect(view).toContainText('1 repaired · 3 skipped · 0 open');
  const forecast = view.locator('.bd-forecast');
  await expect(forecast).toContainText(/Resuming computes \d partitions in 2 stages/);
  await expect(forecast).toContainText('The repaired record reaches at most 1 output.');
  await forecast.getByText('The 2 stages').click();
  await expect(forecast.getByRole('table', { name: 'Stages' }).locator('tbody tr')).toHaveCount(2);
  await picture('culprits-forecast');
  await view.getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(view.getByRole('alert')).toContainText('crashed again');
  await picture('culprits-again');

  await view.getByRole('button', { name: 'Repair it otherwise…' }).click();
  await view.getByRole('textbox', { name: '_2' }).fill('8');
  await desk.page.keyboard.press('Control+Enter');
  await expect(view.locator('.bd-fields ins')).toContainText("'8'");
  await expect(view.locator('.bd-resume')).toContainText('This is what an earlier resume gave');
  await view.getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(view.getByRole('alert')).toHaveCount(0);
  await expect(view.locator('.bd-outcome')).toContainText('4 records crashed as before');
  await expect(view.locator('.bd-outcome')).toContainText('1 output is made of what the repaired ones came from');
  const result = view.getByRole('table', { name: 'Result' });
  await expect(result.locator('tbody tr')).toHaveCount(3);
  await expect(result.locator('tbody tr', { hasText: "'DL'" })).toContainText('15');
  await expect(desk.prompt(6)).toHaveText('[*]:');
  await picture('culprits-resumed');
  await desk.interrupt();
  await expect(desk.prompt(6)).toHaveText(/\[\d+\]:/);
  await desk.run(3);
  await expect(desk.output(3)).toContainText("[('AA', 190), ('DL', 15), ('UA', 30)]");

  await view.getByRole('button', { name: 'Take the repair back' }).click();
  await desk.run(7);
  await view.getByText('Fix the function').click();
  await view.getByRole('button', { name: 'Call it as it is defined now' }).click();
  await expect(view).toContainText(/Fixed by delay, Cell In\[\d+\], line 1\./);
  await expect(view).toContainText('0 repaired · 4 fixed · 0 skipped · 0 open');
  await picture('culprits-fix');
  await view.getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(result.locator('tbody tr', { hasText: "'DL'" })).toContainText('7');
  await desk.run(3);
  await expect(desk.output(3)).toContainText("[('AA', 190), ('DL', 7), ('UA', 30)]");
  await view.getByRole('button', { name: 'Take the fix back' }).click();

  await desk.run(4);
  await desk.run(5);
  const rows = desk.page.locator('.bd-crashes').last();
  await expect(rows).toContainText('culprits of rows');
  await rows.getByRole('button', { name: /^Skip all$/ }).click();
  await rows.getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(rows.getByRole('table', { name: 'Result' }).locator('tbody tr')).toHaveCount(23);
  await desk.theme('JupyterLab Dark');
  await picture('culprits-dark');
  await rows.screenshot({ path: join(import.meta.dirname, 'pictures', 'culprits-rows-dark.png') });
  await desk.theme('JupyterLab Light'); // settings are the server's
  await desk.page.keyboard.press('ControlOrMeta+KeyB'); // without the list of files
  await desk.page.keyboard.press('ControlOrMeta+KeyJ'); // and without the panel
  await desk.page.setViewportSize({ width: 700, height: 450 }); // 200 % of a window of 1400 by 900
  await view.locator('.bd-resume').scrollIntoViewIfNeeded();
  await expect(view.locator('.bd-forecast')).toContainText('What is skipped is in no output.');
  await desk.picture('culprits-zoom');
});
