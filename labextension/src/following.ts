/** Follows the notebook that is open: always connected to its kernel, and to no other. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { Connection } from './connection';

export class Following implements IDisposable {
  readonly changed = new Signal<this, undefined>(this);

  constructor(private readonly tracker: INotebookTracker) {
    tracker.currentChanged.connect(this.onNotebook, this);
    this.onNotebook();
  }

  /** The name of the notebook that is open, if one is. */
  get notebook(): string | null {
    return this.context === null ? null : this.context.name;
  }

  /** Goes to a cell of that notebook; false if it has none of that id. */
  readonly reveal = (cell: string): boolean => {
    const notebook = this.tracker.currentWidget?.content;
    const index = notebook?.widgets.findIndex(each => each.model.id === cell) ?? -1;
    if (notebook === undefined || index < 0) {
      return false;
    }
    notebook.activeCellIndex = index;
    notebook.mode = 'command';
    notebook.activate();
    void notebook.scrollToItem(index, 'smart');
    return true;
  };

  /** The connection to its kernel, if it has one. */
  get connection(): Connection | null {
    return this.connected;
  }

  get isDisposed(): boolean {
    return this.done;
  }

  dispose(): void {
    if (this.done) {
      return;
    }
    this.done = true;
    this.tracker.currentChanged.disconnect(this.onNotebook, this);
    this.context?.kernelChanged.disconnect(this.onKernel, this);
    this.connected?.dispose();
    Signal.clearData(this);
  }

  private onNotebook(): void {
    const panel: NotebookPanel | null = this.tracker.currentWidget;
    this.context?.kernelChanged.disconnect(this.onKernel, this);
    this.context = panel === null ? null : panel.sessionContext;
    this.context?.kernelChanged.connect(this.onKernel, this);
    this.onKernel();
  }

  private onKernel(): void {
    const kernel = this.context?.session?.kernel ?? null;
    this.connected?.dispose();
    this.connected = kernel === null ? null : new Connection(kernel);
    this.connected?.changed.connect(this.onChange, this);
    this.onChange();
  }

  private onChange(): void {
    this.changed.emit(undefined);
  }

  private context: ISessionContext | null = null;
  private connected: Connection | null = null;
  private done = false;
}
