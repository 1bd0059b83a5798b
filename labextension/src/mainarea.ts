/** The views in JupyterLab's main area: each once, and there again when the page is loaded again. */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import type { LabIcon } from '@jupyterlab/ui-components';
import * as v from 'valibot';
import { ViewWidget, type Shown } from './viewwidget';

export const OPEN = 'bigdebug:open-view';

const Shown = v.object({
  kernel: v.string(),
  run: v.string(),
  began: v.nullable(v.number()),
  kind: v.string(),
  name: v.string()
});

/** What the kinds of views show of a run. */
const SHOWS: Readonly<Record<string, string>> = {
  trace: 'Records',
  culprits: 'Culprits',
  watch: 'Watch',
  datasets: 'Datasets'
};

/** Characters of a name that a tab has. */
const LONGEST = 20;

type Tab = MainAreaWidget<ViewWidget>;

/** Adds the command that opens a view, or goes to it. */
export function addMainArea(app: JupyterFrontEnd, icon: LabIcon, restorer: ILayoutRestorer | null): void {
  const tabs = new WidgetTracker<Tab>({ namespace: 'bigdebug-views' });
  app.commands.addCommand(OPEN, {
    label: 'Open a View of a Run',
    execute: args => {
      const shown = v.parse(Shown, args);
      let tab = tabs.find(each => keyOf(each.content.shown) === keyOf(shown));
      if (tab === undefined) {
        tab = tabOf(shown, app, icon);
        void tabs.add(tab);
      }
      if (!tab.isAttached) {
        app.shell.add(tab, 'main', { mode: 'tab-after' });
      }
      app.shell.activateById(tab.id);
      return tab;
    },
    describedBy: { args: { type: 'object', properties: {} } }
  });
  void restorer?.restore(tabs, {
    command: OPEN,
    args: tab => ({ ...tab.content.shown }),
    name: tab => keyOf(tab.content.shown)
  });
}

function tabOf(shown: Shown, app: JupyterFrontEnd, icon: LabIcon): Tab {
  const tab = new MainAreaWidget({ content: new ViewWidget(shown, app.serviceManager.kernels) });
  tab.id = `bigdebug-view-${keyOf(shown)}`;
  const shows = SHOWS[shown.kind] ?? shown.kind;
  const name = shown.name.length > LONGEST ? `${shown.name.slice(0, LONGEST)}…` : shown.name;
  tab.title.label = name === '' ? shows : `${shows}: ${name}`;
  tab.title.caption = captionOf(shown, shows);
  tab.title.icon = icon;
  tab.title.closable = true;
  tab.toolbar.hide();
  return tab;
}

function captionOf({ kind, name }: Shown, shows: string): string {
  switch (kind) {
    case 'watch':
      return `Watch on ${name}`;
    case 'datasets':
      return 'Which data feeds which';
    default:
      return `${shows} of the run ${name}`;
  }
}

function keyOf({ kernel, run, began, kind }: Shown): string {
  return [kernel, run, began ?? 'asked', kind].join('-');
}
