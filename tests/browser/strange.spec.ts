import { join } from 'node:path';
import { expect, test } from './harness';

/** Views of what records can be at their worst, held in the kernel: what Spark does with them is tested elsewhere. */
const VIEWS = `from tests.unit import test_comparison_view, test_diagnosis_view
from tests.unit.test_culprit_view import RECORDS, CulpritView, failed, resumed
from tests.unit.test_payload import HOSTILE, watch
from bigdebug.views.comparisonview import ComparisonView
from bigdebug.views.diagnosisview import DiagnosisView
from bigdebug.views.watchview import WatchView
from tests.unit.test_brush_view import strange
wide = tuple(f"{n} שלום, {n}" for n in range(299)) + (HOSTILE,)
known = failed([*RECORDS, ("שלום", 7, float("nan")), wide], resumed)`;

const SHOWN = [
  'CulpritView(known.culprits, known)',
  'ComparisonView(test_comparison_view.FOUND)',
  'DiagnosisView(test_diagnosis_view.FOUND)',
  'WatchView(watch())',
  'strange()'
];

test('whatever records are, every view shows them as text, in the order of their fields', async ({ desk }) => {
  await desk.open('strange.ipynb', 'bigdebug', [VIEWS, ...SHOWN]);
  await desk.begin(60_000);
  const hostile = '<script>alert(1)</script><img src=x onerror=alert(2)>';
  for (const [at, name] of ['culprits', 'comparison', 'diagnosis', 'watch'].entries()) {
    await desk.run(at + 1);
    const view = desk.cell(at + 1).locator('.bd-view');
    await expect(view).toContainText(hostile);
    expect(await view.locator('script, img').count()).toBe(0);
    await view.screenshot({
      path: join(import.meta.dirname, 'pictures', `strange-${name}.png`),
      animations: 'disabled'
    });
  }
  const crashes = desk.cell(1).locator('.bd-view');
  for (const record of ["('שלום', 7, nan)", "('0 שלום, 0'"]) {
    await crashes.locator('.bd-causes button').first().click();
    while (!(await crashes.locator('.bd-culprits').textContent())?.includes(record)) {
      await crashes.getByRole('button', { name: 'Later' }).click();
    }
    await crashes.locator('.bd-culprits button', { hasText: record }).click();
    await expect(crashes.locator('.bd-culprit')).toContainText('שלום');
  }
  await expect(crashes.locator('.bd-fields tr')).toHaveCount(300);
  await crashes.locator('.bd-fields tr').last().scrollIntoViewIfNeeded();
  await expect(crashes.locator('.bd-fields tr').last()).toContainText(hostile);
  await crashes.screenshot({ path: join(import.meta.dirname, 'pictures', 'strange-wide.png'), animations: 'disabled' });

  // A system that chooses all colours, as Windows does for high contrast: what is pressed and what is brushed can be told.
  await desk.run(5);
  const brush = desk.cell(5).locator('.bd-brush');
  await brush.locator('.bd-plot').first().focus();
  await desk.page.keyboard.press('ArrowDown');
  await desk.page.keyboard.press('Space');
  await expect(brush).toContainText('1 of 5 brushed');
  await desk.page.emulateMedia({ forcedColors: 'active', colorScheme: 'dark' });
  const [ground, ink] = await brush.getByRole('button', { name: 'Recompute' }).evaluate(node => {
    const { backgroundColor, color } = getComputedStyle(node);
    return [backgroundColor, color];
  });
  expect(ground).not.toBe(ink);
  const colors = (): Promise<number> =>
    brush
      .locator('canvas')
      .first()
      .evaluate(canvas => {
        const { width, height } = canvas as HTMLCanvasElement;
        const pixels = (canvas as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, width, height).data ?? [];
        const seen = new Map<string, number>();
        for (let at = 0; at < pixels.length; at += 4) {
          const color = [pixels[at], pixels[at + 1], pixels[at + 2]].join();
          seen.set(color, (seen.get(color) ?? 0) + 1);
        }
        return [...seen.values()].filter(count => count > 200).length;
      });
  await expect.poll(colors).toBeGreaterThanOrEqual(3); // the ground, what is brushed, and what is not
  await brush.screenshot({ path: join(import.meta.dirname, 'pictures', 'strange-forced.png'), animations: 'disabled' });
});
