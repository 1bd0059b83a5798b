/** The brush view: linked charts side by side, what is brushed in them, and the ways to clear it. */
import { useState } from 'preact/hooks';
import type { Ask, Mode } from '../brushing';
import type { Linked, Standing } from '../linked';
import { BrushedRows } from './brushedrows';
import { ChartCard } from './chartcard';
import { Frame, Wrong, WrongView } from './frame';
import { useTheme } from './usetheme';
import { Waiting } from './waiting';
import { counted } from './words';

export interface BrushViewProps {
  readonly ask: Ask;
  readonly linked: Linked;
  readonly standing: Standing;
}

const MODES: readonly (readonly [Mode, string, string])[] = [
  ['crossfilter', 'Recompute', 'Other views show what the brushed rows make'],
  ['highlight', 'Highlight', 'Other views keep their values, and show which marks share rows with the brushed ones']
];

export function BrushView({ ask, linked, standing }: BrushViewProps) {
  const { charts, wrong } = standing;
  const [fit, setFit] = useState(false);
  const theme = useTheme();
  if (charts === null) {
    return wrong === null ? (
      <Frame kind="brush">
        <Waiting what="Asking the kernel…" />
      </Frame>
    ) : (
      <WrongView kind="brush" why={wrong} again={() => void linked.open()} />
    );
  }
  const brushed = charts.filter(each => each.brushed !== null).length;
  return (
    <Frame kind="brush">
      <header>
        <span class="bd-summary">{counted(charts.length, 'linked view')}</span>
        <span class="bd-key" aria-hidden="true">
          <span class="bd-swatch bd-all">all rows</span>
          <span class="bd-swatch bd-left">what is left</span>
          <span class="bd-swatch bd-chosen-marks">brushed</span>
        </span>
        <span class="bd-tools">
          <span role="group" aria-label="What a brush does to other views" class="bd-modes">
            {MODES.map(([mode, label, title]) => (
              <button
                key={mode}
                type="button"
                title={title}
                aria-pressed={standing.mode === mode}
                onClick={() => void linked.setMode(mode)}
              >
                {label}
              </button>
            ))}
          </span>
          <label title="Axes end where what is left does">
            <input
              type="checkbox"
              checked={fit}
              onChange={() => {
                setFit(!fit);
              }}
            />{' '}
            Fit axes
          </label>
          <button
            type="button"
            disabled={brushed === 0}
            onClick={() => {
              linked.clear();
            }}
          >
            Clear all
          </button>
        </span>
      </header>
      {wrong !== null && <Wrong why={wrong} />}
      <div class="bd-charts">
        {charts.map((drawn, view) => (
          <ChartCard
            key={view}
            view={view}
            drawn={drawn}
            ask={ask}
            change={standing.change}
            mode={standing.mode}
            fit={fit}
            theme={theme}
            brush={flags => {
              linked.brush(view, flags);
            }}
          />
        ))}
      </div>
      {brushed > 0 && <BrushedRows ask={ask} change={standing.change} />}
      <p class="bd-keys">
        Click a mark or drag over several; with <kbd>Shift</kbd> more are added. By the keyboard: arrows go from mark to
        mark, <kbd>Space</kbd> brushes one, <kbd>Esc</kbd> clears.
      </p>
    </Frame>
  );
}
