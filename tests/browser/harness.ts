/** What browser tests are given: a JupyterLab for all tests of a file, and a person's hands and eyes in it. */
import { join } from 'node:path';
import { test as base, expect, type Locator, type Page } from '@playwright/test';
import { Lab, type Cells } from './lab';

export { expect } from '@playwright/test';

const PICTURES = join(import.meta.dirname, 'pictures');

/** A cell that starts Spark, under a name. */
export const spark = (name: string): string => `from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").appName("${name}")
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.python.unix.domain.socket.enabled", "true").getOrCreate())
spark.sparkContext.setLogLevel("OFF")`;

/** What JupyterLab and ipywidgets had asked of a kernel that is started again, and never catch. What we ask of one is about subshells. */
const JUPYTERS = /^Canceled future for (?!create_subshell|delete_subshell)\w+ message before replies were done$/;

export class Desk {
  /** What a script of a record would have called. */
  readonly alerts: string[] = [];
  /** What nobody caught in the page, and what the panel's code reported. JupyterLab reports a lot of its own. */
  readonly errors: string[] = [];
  readonly panel: Locator;

  constructor(
    readonly page: Page,
    private readonly lab: Lab
  ) {
    this.panel = page.locator('#bigdebug-panel');
    page.on('dialog', dialog => {
      if (dialog.type() === 'beforeunload') {
        void dialog.accept(); // JupyterLab asks before a page with an unsaved notebook goes
      } else {
        this.alerts.push(dialog.message());
        void dialog.dismiss();
      }
    });
    page.on('pageerror', error => {
      if (!JUPYTERS.test(error.message)) {
        this.errors.push(error.stack ?? String(error)); // it says whose code that was
      }
    });
    page.on('console', said => {
      if (said.type() === 'error' && said.location().url.includes('/extensions/bigdebug/')) {
        this.errors.push(said.text());
      }
    });
  }

  /** Opens a new notebook, and waits for its kernel. */
  async open(name: string, kernel: string, cells: Cells): Promise<void> {
    await this.page.goto(this.lab.notebook(name, kernel, cells));
    await expect(this.page.locator('.jp-Notebook-ExecutionIndicator[data-status=idle]')).toBeVisible();
  }

  /** Another window on what is open in this one. */
  async another(): Promise<Desk> {
    const page = await this.page.context().newPage();
    const desk = new Desk(page, this.lab);
    await page.goto(this.page.url());
    return desk;
  }

  /** Opens one more notebook, by the list of files. */
  async also(name: string): Promise<void> {
    await this.page.locator('.jp-DirListing-item', { hasText: name }).dblclick();
    await expect(
      this.page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab.lm-mod-current', { hasText: name })
    ).toBeVisible();
  }

  /** Closes a notebook by its tab, and what was not saved of it is lost. */
  async close(name: string): Promise<void> {
    await this.tab(name).locator('.lm-TabBar-tabCloseIcon').click();
    await this.page.getByRole('button', { name: 'Discard' }).click();
    await expect(this.tab(name)).toHaveCount(0);
  }

  /** Saves the notebook that is to be seen. */
  async save(): Promise<void> {
    await this.cell(0).locator('.cm-content').click();
    await this.page.keyboard.press('ControlOrMeta+KeyS');
    await expect(this.page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab.jp-mod-dirty')).toHaveCount(0);
  }

  /** Shows what is in a tab of the main area. */
  async goTo(name: string): Promise<void> {
    await this.tab(name).click();
    await expect(this.tab(name)).toHaveClass(/lm-mod-current/);
  }

  /** A tab of the main area. */
  tab(name: string): Locator {
    return this.page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab', { hasText: name });
  }

  /** Opens the panel by its tab at the right. */
  async openPanel(): Promise<void> {
    await this.page.locator('.jp-SideBar.jp-mod-right [data-id=bigdebug-panel]').click();
    await expect(this.panel).toBeVisible();
  }

  /** Says a command in the palette. Tried again: a notebook that is still being opened takes the focus back, and the palette goes. */
  async say(label: string): Promise<void> {
    await expect(async () => {
      await this.page.keyboard.press('ControlOrMeta+Shift+KeyC');
      await this.page.locator('.lm-CommandPalette-input').fill(label, { timeout: 2_000 });
      await this.page.locator('.lm-CommandPalette-item', { hasText: label }).click({ timeout: 2_000 });
    }).toPass();
  }

  /** Runs the cell of a number from 0, and waits until it has ended. */
  async run(cell: number): Promise<void> {
    await this.start(cell);
    await expect(this.prompt(cell)).toHaveText(/\[\d+\]:/, { timeout: 60_000 }); // Spark takes its time to start
  }

  /** Runs the first cell, as often as it takes: a notebook that has just been opened loses keys. */
  async begin(patience = 30_000): Promise<void> {
    await expect(async () => {
      await this.start(0);
      await expect(this.prompt(0)).not.toHaveText('[ ]:', { timeout: 2_000 });
    }).toPass();
    await expect(this.prompt(0)).toHaveText(/\[\d+\]:/, { timeout: patience });
  }

  /**
   * Runs all cells by JupyterLab's menu, as often as it takes to begin: a notebook that has just been opened loses the first one. Waits
   * for the cell of a number, the last one.
   */
  async runAll(last: number): Promise<void> {
    await expect(async () => {
      await this.page.getByRole('menuitem', { name: 'Run', exact: true }).click();
      await this.page.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click();
      await expect(this.prompt(last)).not.toHaveText('[ ]:', { timeout: 5_000 });
    }).toPass({ timeout: 60_000 });
    await expect(this.prompt(last)).toHaveText(/\[\d+\]:/, { timeout: 240_000 });
  }

  /** Runs a cell, and goes on at once. */
  async start(cell: number): Promise<void> {
    await this.cell(cell).locator('.cm-content').click();
    await this.page.keyboard.press('Control+Enter');
  }

  /** A cell of the notebook that is to be seen. */
  cell(cell: number): Locator {
    return this.page.locator('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell').nth(cell);
  }

  /** What a cell gives. */
  output(cell: number): Locator {
    return this.cell(cell).locator('.jp-OutputArea-output');
  }

  prompt(cell: number): Locator {
    return this.cell(cell).locator('.jp-InputPrompt').first();
  }

  /** Restarts the kernel by JupyterLab's menu, and says yes. */
  async restart(): Promise<void> {
    await this.page.getByRole('menuitem', { name: 'Kernel', exact: true }).click();
    await this.page.locator('.lm-Menu-item[data-command="kernelmenu:restart"]').click();
    await this.page.getByRole('button', { name: 'Confirm Kernel Restart' }).click();
  }

  async interrupt(): Promise<void> {
    await this.page.getByRole('menuitem', { name: 'Kernel', exact: true }).click();
    await this.page.locator('.lm-Menu-item[data-command="kernelmenu:interrupt"]').click();
  }

  /** Changes JupyterLab's theme by its menu. */
  async theme(name: string): Promise<void> {
    await this.page.getByRole('menuitem', { name: 'Settings', exact: true }).click();
    await this.page.locator('.lm-Menu-item', { hasText: /^Theme$/ }).click();
    await this.page.locator('.lm-Menu-item[data-command="apputils:change-theme"]', { hasText: name }).first().click();
    await expect(this.page.locator(`body[data-jp-theme-name="${name}"]`)).toBeAttached();
  }

  /** Keeps what is to be seen now for a person to look at. */
  async picture(name: string): Promise<void> {
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`), animations: 'disabled' });
  }
}

export const test = base.extend<{ desk: Desk }, { lab: Lab }>({
  lab: [
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const lab = await Lab.start();
      await use(lab);
      await lab.stop();
    },
    { scope: 'worker', timeout: 120_000 }
  ],
  desk: async ({ page, lab }, use, info) => {
    const desk = new Desk(page, lab);
    // A cell that is run before the notebook has its kernel asks for one.
    const asking = page.locator('.jp-Dialog').getByRole('button', { name: /^Select( Kernel)?$/ }); // its label is longer than its text
    await page.addLocatorHandler(asking, () => asking.click());
    await use(desk);
    if (info.status !== info.expectedStatus) {
      console.log(lab.log.split('\n').slice(-30).join('\n'));
    }
    expect(desk.alerts, 'a record ran as a script').toEqual([]);
    expect(desk.errors, 'the page reported errors').toEqual([]);
  }
});
