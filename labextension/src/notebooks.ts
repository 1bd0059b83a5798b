/** The notebooks that are open, and what is known of the runs of each. */
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { Connection } from './connection';
import { ownConnection } from './lane';

/** The kernel in which bigdebug is loaded from the start. */
const OURS = 'bigdebug';

/** What cells say that have to do with bigdebug. */
const SPEAKS = /bigdebug|%lineage/;

/**
 * A notebook, connected to its kernel while somebody looks at its runs, or when it speaks of bigdebug: kernels that have nothing to do
 * with it are left alone.
 */
export class OpenNotebook implements IDisposable {
  readonly changed = new Signal<this, undefined>(this);

  constructor(readonly panel: NotebookPanel) {
    panel.sessionContext.kernelChanged.connect(this.onKernel, this);
    panel.disposed.connect(this.dispose, this);
    void panel.context.ready.then(() => {
      this.adjust();
    });
    this.onKernel();
  }

  /** The connection to its kernel, if there is one. */
  get connection(): Connection | null {
    return this.connected;
  }

  get isDisposed(): boolean {
    return this.done;
  }

  /** Somebody looks at its runs, until what this gives is called. */
  look(): () => void {
    this.lookers += 1;
    this.adjust();
    let looks = true;
    return () => {
      if (looks) {
        looks = false;
        this.lookers -= 1;
        this.adjust();
      }
    };
  }

  /** Whether it has a cell of that id. */
  has(cell: string | null): boolean {
    return cell !== null && this.panel.content.widgets.some(each => each.model.id === cell);
  }

  /** Goes to a cell; false if it has none of that id. */
  reveal(cell: string): boolean {
    const { content } = this.panel;
    const index = content.widgets.findIndex(each => each.model.id === cell);
    if (index < 0) {
      return false;
    }
    content.activeCellIndex = index;
    content.mode = 'command';
    content.activate();
    void content.scrollToItem(index, 'smart');
    return true;
  }

  /** The page goes. */
  depart(): void {
    if (this.kernel !== null) {
      this.connected?.depart(this.kernel);
    }
    this.dispose();
  }

  dispose(): void {
    if (this.done) {
      return;
    }
    this.done = true;
    this.panel.sessionContext.kernelChanged.disconnect(this.onKernel, this);
    this.kernel?.iopubMessage.disconnect(this.onMessage, this);
    this.connected?.dispose();
    this.connected = null;
    this.changed.emit(undefined);
    Signal.clearData(this);
  }

  private onKernel(): void {
    const kernel = this.panel.sessionContext.session?.kernel ?? null;
    this.kernel?.iopubMessage.disconnect(this.onMessage, this);
    this.kernel = kernel;
    this.spoken = false;
    kernel?.iopubMessage.connect(this.onMessage, this);
    this.connected?.dispose();
    this.connected = null;
    this.adjust();
  }

  /** Connect where somebody wants to know, and else do not. */
  private adjust(): void {
    if (this.done) {
      return;
    }
    const wanted = this.kernel !== null && (this.lookers > 0 || this.speaks(this.kernel));
    if (wanted && this.connected === null && this.kernel !== null) {
      this.connected = new Connection(ownConnection(this.kernel));
      this.connected.changed.connect(this.onChange, this);
    } else if (!wanted) {
      this.connected?.dispose();
      this.connected = null;
    }
    this.onChange();
  }

  private speaks(kernel: Kernel.IKernelConnection): boolean {
    this.spoken ||=
      kernel.name === OURS || this.panel.content.widgets.some(each => SPEAKS.test(each.model.sharedModel.getSource()));
    return this.spoken;
  }

  private onMessage(_: unknown, message: KernelMessage.IIOPubMessage): void {
    if (!this.spoken && KernelMessage.isExecuteInputMsg(message) && SPEAKS.test(message.content.code)) {
      this.spoken = true;
      this.adjust();
    }
  }

  private onChange(): void {
    this.changed.emit(undefined);
  }

  private kernel: Kernel.IKernelConnection | null = null;
  private connected: Connection | null = null;
  private lookers = 0;
  private spoken = false;
  private done = false;
}

/** All of them, and which is to be seen. */
export class Notebooks {
  constructor(
    private readonly tracker: INotebookTracker,
    /** Told of each as it is opened. */
    private readonly opened: (notebook: OpenNotebook) => void
  ) {
    tracker.forEach(panel => this.of(panel));
    tracker.widgetAdded.connect((_, panel) => this.of(panel));
    // A page that goes tells the kernels, so that nothing is kept there for what nobody sees.
    window.addEventListener('pagehide', () => {
      this.open.forEach(each => {
        each.depart();
      });
    });
  }

  get current(): OpenNotebook | null {
    const panel = this.tracker.currentWidget;
    return panel === null ? null : this.of(panel);
  }

  get currentChanged() {
    return this.tracker.currentChanged;
  }

  /** The one of a panel: JupyterLab may say that it is to be seen before it says that it is there. */
  private of(panel: NotebookPanel): OpenNotebook {
    const known = this.open.get(panel);
    if (known !== undefined) {
      return known;
    }
    const notebook = new OpenNotebook(panel);
    this.open.set(panel, notebook);
    panel.disposed.connect(() => this.open.delete(panel));
    this.opened(notebook);
    return notebook;
  }

  private readonly open = new Map<NotebookPanel, OpenNotebook>();
}
