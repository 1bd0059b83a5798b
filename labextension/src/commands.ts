/** Commands on the runs of the notebook that is to be seen. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification, type ICommandPalette } from '@jupyterlab/apputils';
import type { Connection } from './connection';
import { onlyAsked } from './heard';
import { OPEN } from './mainarea';
import type { Notebooks, OpenNotebook } from './notebooks';
import type { RunLine } from './payload';
import { DATASETS } from './view/panelview';

const PANEL = 'bigdebug:show-panel';
const DATASETS_GRAPH = 'bigdebug:datasets';
const CATEGORY = 'bigdebug';

/** How long a kernel may take to tell its runs, in milliseconds. */
const PATIENCE = 5000;

interface Way {
  readonly command: string;
  readonly label: string;
  readonly kind: 'trace' | 'culprits';
  readonly fits: (run: RunLine) => boolean;
  /** What is said where no run fits. */
  readonly none: string;
}

const crashed = (run: RunLine): boolean => run.status === 'failed' || run.culprits.known > 0;

const WAYS: readonly Way[] = [
  {
    command: 'bigdebug:records-of-latest',
    label: 'Open Records of the Latest Run',
    kind: 'trace',
    fits: run => !onlyAsked(run),
    none: 'This notebook has no run. Put %%lineage in the first line of a cell that runs a Spark job.'
  },
  {
    command: 'bigdebug:culprits-of-latest',
    label: 'Open Culprits of the Latest Run',
    kind: 'culprits',
    fits: run => run.culprits.known > 0,
    none: 'No run of this notebook has culprits.'
  },
  {
    command: 'bigdebug:debug-crash',
    label: 'Debug This Notebook’s Latest Crash',
    kind: 'culprits',
    fits: crashed,
    none: 'No run of this notebook has crashed.'
  }
];

/** Adds the commands; what is wrong with a kernel, the panel says, which `showPanel` shows. */
export function addCommands(
  app: JupyterFrontEnd,
  notebooks: Notebooks,
  showPanel: () => void,
  palette: ICommandPalette | null
): void {
  const args = { describedBy: { args: { type: 'object' as const, properties: {} } } };
  app.commands.addCommand(PANEL, {
    label: 'Show Runs and Culprits',
    caption: 'Show the panel of bigdebug',
    execute: showPanel,
    ...args
  });
  app.commands.addKeyBinding({ command: PANEL, keys: ['Accel Alt B'], selector: 'body' });
  for (const way of WAYS) {
    app.commands.addCommand(way.command, {
      label: way.label,
      isEnabled: () => notebooks.current !== null,
      execute: async () => {
        const found = await latest(notebooks.current, way.fits);
        if (found === 'unknown') {
          showPanel();
        } else if (found === null) {
          Notification.info(way.none, { autoClose: 5000 });
        } else {
          const { kernel, run } = found;
          const { id, began, name } = run;
          await app.commands.execute(OPEN, { kernel, run: id, began, kind: way.kind, name });
        }
      },
      ...args
    });
  }
  app.commands.addCommand(DATASETS_GRAPH, {
    label: 'Show Which Data Feeds Which',
    isEnabled: () => notebooks.current !== null,
    execute: async () => {
      const kernel = notebooks.current?.connection?.kernelId;
      if (kernel === undefined) {
        showPanel(); // which says that there is none
        return;
      }
      const { id: run, began, name } = DATASETS;
      await app.commands.execute(OPEN, { kernel, run, began, kind: 'datasets', name });
    },
    ...args
  });
  [PANEL, DATASETS_GRAPH, ...WAYS.map(way => way.command)].forEach(command =>
    palette?.addItem({ command, category: CATEGORY })
  );
}

/** The latest run that fits, of this notebook's cells before others of its kernel; null if there is none, unknown if nobody can tell. */
async function latest(
  notebook: OpenNotebook | null,
  fits: (run: RunLine) => boolean
): Promise<{ kernel: string; run: RunLine } | 'unknown' | null> {
  const away = notebook?.look();
  try {
    const connection = notebook?.connection ?? null;
    const runs = connection === null ? null : await runsOf(connection);
    if (notebook === null || connection === null || runs === null) {
      return 'unknown';
    }
    const fitting = runs.filter(fits);
    const run = fitting.findLast(each => notebook.has(each.cell)) ?? fitting.at(-1);
    return run === undefined ? null : { kernel: connection.kernelId, run };
  } finally {
    away?.();
  }
}

/** The runs that a kernel has, oldest first; null if it does not tell. */
function runsOf(connection: Connection): Promise<RunLine[] | null> {
  return new Promise(resolve => {
    const look = (): boolean => {
      const { phase } = connection;
      if (phase.is === 'asking') {
        return false;
      }
      end();
      resolve(phase.is === 'open' ? [...phase.heard.runs.values()] : null);
      return true;
    };
    const end = (): void => {
      clearTimeout(timer);
      connection.changed.disconnect(look);
    };
    const timer = setTimeout(() => {
      end();
      resolve(null);
    }, PATIENCE);
    if (!look()) {
      connection.changed.connect(look);
    }
  });
}
