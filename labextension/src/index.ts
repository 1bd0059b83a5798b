/** Wiring: the panel, views in the main area, marks of cells, and commands. */
import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { LabIcon } from '@jupyterlab/ui-components';
import picture from '../style/icon.svg';
import { addCommands } from './commands';
import { addMainArea, OPEN } from './mainarea';
import { Marks } from './marks';
import { Notebooks } from './notebooks';
import { Panel } from './panel';
import type { RunLine } from './payload';

const ID = 'bigdebug-panel';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'bigdebug:panel',
  description: 'Lists the runs that bigdebug captured in the kernel of the open notebook.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ICommandPalette, ILayoutRestorer],
  activate(
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null
  ): void {
    const icon = new LabIcon({ name: 'bigdebug:icon', svgstr: picture });
    addMainArea(app, icon, restorer);
    const showPanel = (): void => {
      app.shell.activateById(ID);
    };
    const showRun = (run: RunLine): void => {
      panel.point(run);
      showPanel();
    };
    const notebooks = new Notebooks(tracker, notebook => new Marks(notebook, showRun));
    const panel = new Panel(notebooks, shown => {
      void app.commands.execute(OPEN, { ...shown });
    });
    panel.id = ID;
    panel.title.icon = icon;
    panel.title.caption = 'bigdebug: runs of this notebook';
    app.shell.add(panel, 'right', { rank: 400 });
    restorer?.add(panel, ID);
    addCommands(app, notebooks, showPanel, palette);
  }
};

export default plugin;
