/** Marks at the cells of a notebook that made runs. They are in the page alone: nothing of them is in the notebook. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';
import { h, render } from 'preact';
import { onlyAsked } from './heard';
import type { OpenNotebook } from './notebooks';
import type { RunLine } from './payload';
import { CellMarks } from './view/cellmarks';

type Cell = NotebookPanel['content']['widgets'][number];

/** What a cell with code knows of its latest execution. */
interface CodeModel {
  readonly executionCount: number | null;
  readonly executionState: string;
  /** Whether it says something else by now. */
  readonly isDirty: boolean;
}

export class Marks implements IDisposable {
  constructor(
    private readonly notebook: OpenNotebook,
    /** Shows a run. */
    private readonly show: (run: RunLine) => void
  ) {
    notebook.changed.connect(this.later, this);
    notebook.panel.content.modelContentChanged.connect(this.later, this);
    notebook.panel.disposed.connect(this.dispose, this);
    this.later();
  }

  get isDisposed(): boolean {
    return this.done;
  }

  dispose(): void {
    this.done = true;
  }

  /** Draw once for all that changes at a time. */
  private later(): void {
    if (!this.waiting && !this.done) {
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.draw();
      });
    }
  }

  private draw(): void {
    if (this.done || this.notebook.panel.isDisposed) {
      return;
    }
    const phase = this.notebook.connection?.phase;
    if (phase?.is === 'asking') {
      return; // what was known stays to be seen until it is known again
    }
    const runs = phase?.is === 'open' ? [...phase.heard.runs.values()] : [];
    const made = new Map<string, RunLine[]>();
    for (const run of runs) {
      if (run.cell !== null && !onlyAsked(run)) {
        const others = made.get(run.cell) ?? [];
        others.push(run);
        made.set(run.cell, others);
      }
    }
    for (const cell of this.notebook.panel.content.widgets) {
      mark(cell, marked(cell, made.get(cell.model.id) ?? []), this.show);
    }
  }

  private waiting = false;
  private done = false;
}

/** The runs of the latest execution of a cell, as long as what it gave is to be seen. */
function marked(cell: Cell, runs: readonly RunLine[]): readonly RunLine[] {
  const code = codeOf(cell);
  if (runs.length === 0 || code === null) {
    return [];
  }
  const latest =
    code.executionState === 'running' ? Math.max(...runs.map(run => run.execution ?? 0)) : code.executionCount;
  return runs.filter(run => run.execution === latest);
}

function codeOf(cell: Cell): CodeModel | null {
  return cell.model.type === 'code' ? (cell.model as unknown as CodeModel) : null;
}

const HOST = 'bd-marks';

function mark(cell: Cell, runs: readonly RunLine[], show: (run: RunLine) => void): void {
  const there = child(cell, HOST);
  if (runs.length === 0) {
    if (there !== undefined) {
      render(null, there);
      there.remove();
    }
    return;
  }
  const host = there ?? made();
  const output = child(cell, 'jp-Cell-outputWrapper');
  if (host.parentNode !== cell.node || (output !== undefined && host.nextElementSibling !== output)) {
    // Between what the cell says and what it gives, which JupyterLab may have made later.
    cell.node.insertBefore(host, output ?? null);
  }
  render(h(CellMarks, { runs, edited: codeOf(cell)?.isDirty ?? false, show }), host);
}

function child(cell: Cell, name: string): Element | undefined {
  return [...cell.node.children].find(each => each.classList.contains(name));
}

function made(): HTMLElement {
  const host = document.createElement('div');
  host.className = HOST;
  host.dataset['lmSuppressShortcuts'] = 'true'; // Enter and Space are the buttons'
  return host;
}
