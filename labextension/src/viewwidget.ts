/** A view of a run in JupyterLab's main area: connected to the kernel of the run, whatever notebook is open. */
import type { Kernel } from '@jupyterlab/services';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import { draw } from './kinds';
import { ownConnection } from './lane';
import { Line, type Wanted } from './line';
import { Frame, WrongView } from './view/frame';
import { Waiting } from './view/waiting';

/** What is shown: a view of a run of a kernel, with a name for people. */
export type Shown = Wanted & { kernel: string; name: string };

export class ViewWidget extends Widget {
  constructor(
    readonly shown: Shown,
    kernels: Kernel.IManager
  ) {
    super();
    this.addClass('bd-main');
    this.node.tabIndex = -1;
    const { kernel, run, began, kind } = shown;
    const find = async (): Promise<Kernel.IKernelConnection | null> => {
      const model = await kernels.findById(kernel);
      if (model === undefined) {
        return null;
      }
      const there = kernels.connectTo({ model, handleComms: false });
      const own = ownConnection(there);
      there.dispose();
      return own;
    };
    this.line = new Line(find, { run, began, kind });
    this.line.changed.connect(this.onChange, this);
    this.onChange();
    // A page that goes tells the kernel, so that nothing is kept there for a view that nobody sees.
    window.addEventListener('pagehide', this.leave);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      window.removeEventListener('pagehide', this.leave);
      this.leave();
      this.clear();
      super.dispose();
    }
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    (this.node.querySelector<HTMLElement>('button:enabled') ?? this.node).focus();
  }

  private onChange(): void {
    const { phase } = this.line;
    this.clear();
    if (phase.is === 'open') {
      this.clear = draw(phase.kind, phase.model, this.node);
      return;
    }
    const again = (): void => void this.line.connect();
    const notice =
      phase.is === 'asking'
        ? h(Frame, { kind: 'none', children: h(Waiting, { what: 'Asking the kernel…' }) })
        : h(WrongView, { kind: 'none', why: phase.why, again });
    render(notice, this.node);
    this.clear = () => {
      render(null, this.node);
    };
  }

  private readonly leave = (): void => {
    this.line.dispose();
  };

  private readonly line: Line;
  private clear: () => void = () => undefined;
}
