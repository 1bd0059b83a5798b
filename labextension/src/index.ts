/** Wiring: the panel, its icon, and its command. */
import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { LabIcon } from '@jupyterlab/ui-components';
import picture from '../style/icon.svg';
import { addMainArea, OPEN } from './mainarea';
import { Panel } from './panel';

const ID = 'bigdebug-panel';
const SHOW = 'bigdebug:show-panel';

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
    const panel = new Panel(tracker, shown => {
      void app.commands.execute(OPEN, { ...shown });
    });
    panel.id = ID;
    panel.title.icon = icon;
    panel.title.caption = 'bigdebug: runs of this notebook';
    app.shell.add(panel, 'right', { rank: 400 });
    restorer?.add(panel, ID);
    app.commands.addCommand(SHOW, {
      label: 'Show Runs and Culprits',
      caption: 'Show the panel of bigdebug',
      execute: () => {
        app.shell.activateById(ID);
      },
      describedBy: { args: { type: 'object', properties: {} } }
    });
    palette?.addItem({ command: SHOW, category: 'bigdebug' });
  }
};

export default plugin;
