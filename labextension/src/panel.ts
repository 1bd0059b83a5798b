/** The side panel. While nobody sees it, it is connected to no kernel, and costs nothing. */
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import type { Ask } from './connection';
import { Following } from './following';
import { Refused } from './payload';
import type { Shown } from './viewwidget';
import { PanelView, type PanelViewProps } from './view/panelview';

export class Panel extends Widget {
  constructor(
    private readonly tracker: INotebookTracker,
    /** Opens a view in the main area. */
    private readonly view: (shown: Shown) => void
  ) {
    super();
    this.addClass('bd-root');
    this.node.tabIndex = -1;
    // A page that goes tells the kernel, so that nothing is kept there for a panel that nobody sees.
    window.addEventListener('pagehide', this.unfollow);
  }

  override dispose(): void {
    window.removeEventListener('pagehide', this.unfollow);
    this.unfollow();
    render(null, this.node);
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.following ??= new Following(this.tracker);
    this.following.changed.connect(this.onChange, this);
    this.onChange();
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this.unfollow();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this.onAfterShow(message);
    }
  }

  protected override onBeforeDetach(message: Message): void {
    super.onBeforeDetach(message);
    this.unfollow();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    const first = this.node.querySelector<HTMLElement>('button');
    (first ?? this.node).focus();
  }

  private onChange(): void {
    const connection = this.following?.connection ?? null;
    const ask: Ask =
      connection?.ask ??
      (() => Promise.reject(new Refused('The notebook has no kernel.', 'Choose one and run it again.')));
    const again = (): void => void connection?.connect();
    const reveal = this.following?.reveal ?? (() => false);
    const view: PanelViewProps['view'] = ({ id, began, name }, kind) => {
      if (connection !== null) {
        this.view({ kernel: connection.kernelId, run: id, began, kind, name });
      }
    };
    const props: PanelViewProps = {
      notebook: this.following?.notebook ?? null,
      phase: connection?.phase ?? null,
      ask,
      reveal,
      view,
      opened: this.opened,
      toggle: this.toggle,
      again
    };
    render(h(PanelView, props), this.node);
  }

  private readonly toggle = (key: string): void => {
    if (!this.opened.delete(key)) {
      this.opened.add(key);
    }
    this.onChange();
  };

  private readonly unfollow = (): void => {
    this.following?.dispose();
    this.following = null;
  };

  private following: Following | null = null;
  private readonly opened = new Set<string>();
}
