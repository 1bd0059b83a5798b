import { expect, test, type Desk } from './harness';

/** A run whose records are in the kernel itself: no Spark is needed to look at it. */
const HELD = `from tests.kernel.held import hold
session = hold(get_ipython())`;

const FORGET = 'session.runs = ()';

const BUSY = `import time
while True: time.sleep(0.05)`;

/** Until JupyterLab has written down that a view is in the main area; the test's own time bounds it. */
function keptView(desk: Desk): Promise<unknown> {
  return desk.page.waitForResponse(
    answer => {
      const kept = answer.request().method() === 'PUT' && answer.url().includes('/api/workspaces/');
      const { data } = JSON.parse((kept ? answer.request().postData() : null) ?? '{}') as { data?: object };
      return JSON.stringify(data?.['layout-restorer:data' as keyof typeof data] ?? '').includes('bigdebug-views:');
    },
    { timeout: 0 }
  );
}

/** Opens a notebook with the run, and its records in the main area. */
async function records(desk: Desk, name: string, cells: string[]): Promise<void> {
  await desk.open(name, 'bigdebug', [HELD, ...cells]);
  await desk.openPanel();
  await expect(desk.panel).toContainText('No run has been captured yet.');
  await desk.begin();
  await desk.panel.locator('.bd-head').click();
  await desk.panel.getByRole('button', { name: 'Records' }).click();
  await expect(desk.page.locator('.bd-main .bd-records tbody tr')).toHaveCount(4);
}

test('records of a run have a tab of their own, once, while a cell runs, and when the page is loaded again', async ({
  desk
}) => {
  const kept = keptView(desk);
  await records(desk, 'views.ipynb', [BUSY]);
  const view = desk.page.locator('.bd-main');
  const tabs = desk.tab('Records:');
  const rows = view.locator('.bd-records tbody tr');
  await expect(view).toContainText('<script>alert(1)</script>');
  await desk.picture('views');
  await desk.goTo('views.ipynb');
  await desk.start(1);
  await desk.panel.getByRole('button', { name: 'Records' }).click();
  await expect(tabs).toHaveCount(1);
  await expect(tabs).toHaveClass(/lm-mod-current/);
  await rows.nth(1).getByRole('checkbox').check();
  await view.getByRole('button', { name: 'Keep chosen' }).click();
  await expect(rows).toHaveCount(1);
  await desk.goTo('views.ipynb');
  await expect(desk.prompt(1)).toHaveText('[*]:');
  await desk.interrupt();
  await expect(desk.prompt(1)).toHaveText(/\[\d+\]:/);
  await kept;
  await desk.page.reload();
  await desk.goTo('Records:');
  await expect(rows).toHaveCount(1); // it stands where it stood
});

test('a view whose run, kernel or bigdebug is gone says so, and what to do', async ({ desk }) => {
  await records(desk, 'gone.ipynb', ['%unload_ext bigdebug', '%load_ext bigdebug', HELD, FORGET]);
  const view = desk.page.locator('.bd-main');
  const again = view.getByRole('button', { name: 'Look again' });
  await desk.goTo('gone.ipynb');
  await desk.run(1);
  await desk.goTo('Records:');
  await expect(view.getByRole('alert')).toContainText('bigdebug is not loaded in this kernel.');
  await desk.picture('views-absent');
  await desk.goTo('gone.ipynb');
  for (const cell of [2, 3]) {
    await desk.run(cell);
  }
  await desk.goTo('Records:');
  await again.click();
  await expect(view.locator('.bd-records tbody tr')).toHaveCount(4);
  await desk.goTo('gone.ipynb');
  await desk.restart();
  await desk.goTo('Records:');
  await expect(view.getByRole('alert')).toContainText('The kernel was started again');
  await desk.picture('views-restarted');
  await again.click();
  await expect(view.getByRole('alert')).toContainText('This run is not there any more');
  await desk.tab('Records:').locator('.lm-TabBar-tabCloseIcon').click();
  await expect(view).toHaveCount(0);
});

test('a table stands where a view was, when its kernel is gone', async ({ desk, lab }) => {
  const shown = 'from tests.unit.test_trace_view import RECORDS, view_of\nview_of(RECORDS)';
  const wide = 'view_of([(*range(299), "<script>alert(1)</script>")] * 2)';
  await desk.open('fallback.ipynb', 'bigdebug', [shown, wide]);
  await desk.begin();
  await desk.run(1);
  const columns = desk.cell(1).locator('.bd-view .bd-records thead th');
  await expect(columns).toHaveCount(302); // 300 fields, the box and the id
  await columns.last().scrollIntoViewIfNeeded();
  await expect(desk.cell(1).locator('.bd-view tbody')).toContainText('<script>alert(1)</script>');
  await desk.picture('views-wide');
  const cell = desk.cell(0);
  const table = cell.locator('.bd-fallback');
  await expect(cell.locator('.bd-view .bd-records tbody tr')).toHaveCount(4);
  await expect(table).toBeHidden();
  await desk.save();
  await lab.shutDown('fallback.ipynb');
  await desk.page.reload();
  await expect(table).toBeVisible();
  await expect(table).toContainText('report.py:7');
  await expect(cell.locator('.bd-view')).toHaveCount(0);
  await desk.picture('views-fallback');
});

test('a cell that made a run is marked, wherever it goes, and the mark leads to the panel', async ({ desk, lab }) => {
  await desk.open('marks.ipynb', 'bigdebug', [HELD, '6 * 7', FORGET]);
  await desk.begin();
  await desk.run(1);
  const marks = desk.page.locator('.bd-marks');
  await expect(desk.cell(0).locator('.bd-marks button')).toContainText('<script>alert(1)</script>');
  await expect(marks).toHaveCount(1);
  await desk.picture('marks');
  await desk.cell(0).locator('.bd-marks button').click();
  const run = desk.panel.locator('.bd-run');
  await expect(run.locator('.bd-head')).toBeFocused();
  await expect(run.locator('.bd-causes')).toBeVisible();
  await desk.picture('marks-panel');
  await desk.page.keyboard.press('Enter'); // closes the run that has the focus
  await expect(run.locator('.bd-causes')).toHaveCount(0);

  await desk.cell(0).locator('.cm-content').click();
  await desk.page.keyboard.press('End');
  await desk.page.keyboard.type('  # edited');
  await expect(desk.cell(0).locator('.bd-edited')).toBeVisible();
  await desk.page.keyboard.press('Escape');
  await desk.page.keyboard.press('ControlOrMeta+Shift+ArrowDown');
  await expect(desk.cell(1).locator('.bd-marks button')).toBeVisible();
  await expect(marks).toHaveCount(1);
  await desk.save();
  expect(lab.saved('marks.ipynb')).toContain('# edited');
  expect(lab.saved('marks.ipynb')).not.toMatch(/bd-|alert/);
  await desk.run(2);
  await expect(marks).toHaveCount(0);
  await desk.run(1);
  await expect(desk.cell(1).locator('.bd-marks button')).not.toHaveClass(/bd-edited/);
  await desk.restart();
  await expect(marks).toHaveCount(0);
});

test('commands open the latest run by the keyboard, and two windows on one kernel both follow', async ({ desk }) => {
  await desk.open('commands.ipynb', 'bigdebug', [HELD, FORGET, 'session = hold(get_ipython())']);
  const other = await desk.another();
  await expect(other.page.locator('.jp-Notebook-ExecutionIndicator[data-status=idle]')).toBeVisible();
  await desk.page.bringToFront();
  await desk.say('Open Records of the Latest Run');
  await expect(desk.page.locator('.Toastify')).toContainText('This notebook has no run.');
  await desk.begin();
  await other.page.bringToFront();
  await other.page.keyboard.press('ControlOrMeta+Alt+KeyB');
  await expect(other.panel.locator('.bd-run')).toHaveCount(1);
  await expect(other.panel.locator('.bd-head')).toBeFocused();
  await other.page.keyboard.press('Enter');
  await expect(other.panel.locator('.bd-operators')).toBeVisible();
  await other.page.keyboard.press('Tab');
  await other.page.keyboard.press('Enter');
  await expect(other.page.locator('.bd-main .bd-records tbody tr')).toHaveCount(4);
  await desk.page.bringToFront();
  await desk.say('Open Records of the Latest Run');
  await expect(desk.page.locator('.bd-main .bd-records tbody tr')).toHaveCount(4);
  await desk.goTo('commands.ipynb');
  await desk.say('Latest Crash');
  await expect(desk.tab('Culprits:')).toHaveClass(/lm-mod-current/);
  await expect(desk.page.locator('.bd-main').filter({ visible: true })).toContainText('ValueError');
  await desk.picture('views-culprits');
  await desk.goTo('commands.ipynb');
  await desk.run(1);
  await expect(other.panel.locator('.bd-run')).toHaveCount(0);
  await desk.restart();
  await desk.run(0);
  await expect(other.panel.locator('.bd-run')).toHaveCount(1);
  await other.page.close();
});

test('the panel and a view are readable at 200 %', async ({ desk }) => {
  await records(desk, 'zoom.ipynb', []);
  await desk.page.keyboard.press('ControlOrMeta+KeyB'); // without the list of files
  await desk.page.setViewportSize({ width: 700, height: 450 }); // as a window of 1400 by 900 is then
  await desk.picture('views-zoom');
  const panel = desk.panel;
  await expect(panel.getByRole('button', { name: 'Records' })).toBeInViewport();
  expect(await panel.evaluate(node => node.scrollWidth <= node.clientWidth)).toBe(true);
});
