/** The side panel. While nobody sees it, it looks at no notebook. */
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { h, render } from 'preact';
import type { Ask } from './connection';
import { Following } from './following';
import { keyOf } from './heard';
import type { Notebooks } from './notebooks';
import { Refused, type RunLine } from './payload';
import type { Shown } from './viewwidget';
import { PanelView, type PanelViewProps } from './view/panelview';

export class Panel extends Widget {
  constructor(
    private readonly notebooks: Notebooks,
    /** Opens a view in the main area. */
    private readonly view: (shown: Shown) => void
  ) {
    super();
    this.addClass('bd-root');
    this.node.tabIndex = -1;
  }

  override dispose(): void {
    this.unfollow();
    render(null, this.node);
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.following ??= new Following(this.notebooks);
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
    // A run that somebody pointed at may have the focus already.
    if (!this.goOn() && !this.node.contains(document.activeElement)) {
      const run = this.node.querySelector<HTMLElement>('.bd-head');
      (run ?? this.node.querySelector<HTMLElement>('button') ?? this.node).focus();
    }
  }

  /** Opens a run, and goes to it as soon as it is to be seen. */
  point(run: RunLine): void {
    this.opened.add(keyOf(run));
    this.pointed = keyOf(run);
    this.onChange();
  }

  /** Goes to the run that somebody pointed at; false if nobody did, or it is not to be seen yet. */
  private goOn(): boolean {
    const runs = [...this.node.querySelectorAll<HTMLElement>('.bd-run')];
    const head = runs.find(each => each.dataset['run'] === this.pointed)?.querySelector<HTMLElement>('.bd-head');
    if (head === undefined || head === null || !this.isVisible) {
      return false;
    }
    this.pointed = null;
    head.scrollIntoView({ block: 'start' });
    head.focus({ preventScroll: true });
    return true;
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
    this.goOn();
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

  private pointed: string | null = null;
  private following: Following | null = null;
  private readonly opened = new Set<string>();
}
