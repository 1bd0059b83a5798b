/** Linked charts in the browser: what each shows, and what is brushed, here at once and in the kernel as soon as it comes to it. */
import { bitsOf, flagsOf, type Ask, type Changed, type Mode, type Opened } from './brushing';
import { columnsOf, type Columns } from './charts/column';
import type { Drawn } from './charts/picture';
import { Latest } from './latest';
import { refusal, type Refused } from './payload';

/** The name of the measure that the browser keeps of the last brush: from a hand's move until all charts show it. */
export const MEASURE = 'bigdebug.brush';

const NOTHING: Columns = {};

export interface Standing {
  /** Null until the kernel has answered. */
  readonly charts: readonly Drawn[] | null;
  readonly mode: Mode;
  /** Counts the changes in the kernel. */
  readonly change: number;
  readonly wrong: Refused | null;
}

export class Linked {
  standing: Standing = { charts: null, mode: 'crossfilter', change: 0, wrong: null };

  constructor(
    private readonly ask: Ask,
    private readonly onChange: () => void
  ) {}

  /** Ask for all that there is. */
  async open(): Promise<void> {
    this.become({ wrong: null });
    try {
      const opened = await this.ask('open', {});
      const before = this.standing.charts;
      const charts = drawnOf(opened).map((each, view) =>
        this.latest.pending(view) ? { ...each, brushed: before?.[view]?.brushed ?? null } : each
      );
      this.become({ charts, mode: opened.mode, change: opened.change, wrong: null });
      if (this.heard > opened.change) {
        void this.open(); // it was answered before that, and came after it
      }
    } catch (problem) {
      this.become({ wrong: refusal(problem) });
    }
  }

  /** Brush the marks with these flags in a chart; null, or no mark, clears it. */
  brush(view: number, flags: Uint8Array | null): void {
    const charts = this.standing.charts ?? [];
    const brushed = flags?.includes(1) === true ? flags : null;
    if (brushed === null && charts[view]?.brushed === null) {
      return;
    }
    this.moved = performance.now();
    this.become({ charts: charts.map((each, at) => (at === view ? { ...each, brushed } : each)) });
    this.latest.put(view, brushed);
  }

  clear(): void {
    this.standing.charts?.forEach((_, view) => {
      this.brush(view, null);
    });
  }

  async setMode(mode: Mode): Promise<void> {
    try {
      await this.ask('mode', { mode });
    } catch (problem) {
      this.become({ wrong: refusal(problem) });
    }
  }

  /** The kernel tells of a change, whoever made it. */
  hear(changed: Changed): void {
    const { charts, change, mode } = this.standing;
    this.heard = Math.max(this.heard, changed.change);
    if (charts === null || changed.change <= change) {
      return;
    }
    if (changed.change > change + 1) {
      void this.open(); // something in between was not heard
      return;
    }
    this.become({ charts: changedBy(charts, changed, view => this.latest.pending(view)), change: changed.change });
    if (changed.mode !== mode) {
      this.become({ mode: changed.mode });
    }
  }

  private async send(brushes: ReadonlyMap<number, Uint8Array | null>): Promise<void> {
    const moved = this.moved;
    const clauses = [...brushes].map(([view, flags]) => ({ view, marks: flags === null ? null : bitsOf(flags) }));
    try {
      await this.ask('brush', { clauses });
      this.become({ wrong: null });
      measured(moved);
    } catch (problem) {
      this.become({ wrong: refusal(problem) });
    }
  }

  private become(change: Partial<Standing>): void {
    this.standing = { ...this.standing, ...change };
    this.onChange();
  }

  /** The last change that was told, and when a hand last moved. */
  private heard = 0;
  private moved = 0;
  private readonly latest = new Latest<number, Uint8Array | null>(brushes => this.send(brushes));
}

function drawnOf(opened: Opened): Drawn[] {
  const charts = opened.charts.map(chart => ({
    chart,
    full: columnsOf(chart.channels, chart.marks),
    now: NOTHING,
    lit: null,
    brushed: null
  }));
  return changedBy(charts, opened, () => false);
}

/** Charts after a change; those that it does not concern are the same objects. `kept` charts are brushed by a hand right now. */
export function changedBy(charts: readonly Drawn[], changed: Changed, kept: (view: number) => boolean): Drawn[] {
  const found = [...charts];
  for (const { view, lit, channels } of changed.shown) {
    const before = found[view];
    if (before !== undefined) {
      const { marks } = before.chart;
      const flags = lit === null ? null : flagsOf(lit, marks);
      // What has not changed stays the same object, so that nothing is laid out anew for it.
      const now = Object.keys(channels).length === 0 ? NOTHING : columnsOf(channels, marks);
      found[view] = { ...before, lit: flags, now };
    }
  }
  for (const { view, marks } of changed.clauses) {
    const before = found[view];
    if (before !== undefined && !kept(view)) {
      found[view] = { ...before, brushed: marks === null ? null : flagsOf(marks, before.chart.marks) };
    }
  }
  return found;
}

/** Keep how long it took until all was to be seen: a frame later, and after what that frame paints. */
function measured(since: number): void {
  requestAnimationFrame(() => {
    setTimeout(() => {
      performance.clearMeasures(MEASURE);
      performance.measure(MEASURE, { start: since, end: performance.now() });
    });
  });
}
