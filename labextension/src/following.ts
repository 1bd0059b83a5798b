/** Follows the notebook that is to be seen: looks at its runs, and at no other's. */
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { Connection } from './connection';
import type { Notebooks, OpenNotebook } from './notebooks';

export class Following implements IDisposable {
  readonly changed = new Signal<this, undefined>(this);

  constructor(private readonly notebooks: Notebooks) {
    notebooks.currentChanged.connect(this.onNotebook, this);
    this.onNotebook();
  }

  /** The name of the notebook that is open, if one is. */
  get notebook(): string | null {
    return this.followed === null ? null : this.followed.panel.sessionContext.name;
  }

  /** Goes to a cell of that notebook; false if it has none of that id. */
  readonly reveal = (cell: string): boolean => this.followed?.reveal(cell) ?? false;

  /** The connection to its kernel, if it has one. */
  get connection(): Connection | null {
    return this.followed?.connection ?? null;
  }

  get isDisposed(): boolean {
    return this.done;
  }

  dispose(): void {
    if (!this.done) {
      this.done = true;
      this.notebooks.currentChanged.disconnect(this.onNotebook, this);
      this.leave();
      Signal.clearData(this);
    }
  }

  private onNotebook(): void {
    this.leave();
    this.followed = this.notebooks.current;
    this.followed?.changed.connect(this.onChange, this);
    this.away = this.followed?.look() ?? this.away;
    this.onChange();
  }

  private leave(): void {
    this.followed?.changed.disconnect(this.onChange, this);
    this.away();
    this.away = () => undefined;
    this.followed = null;
  }

  private onChange(): void {
    this.changed.emit(undefined);
  }

  private followed: OpenNotebook | null = null;
  private away: () => void = () => undefined;
  private done = false;
}
