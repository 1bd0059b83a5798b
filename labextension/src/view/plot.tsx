/** The marks of a chart, drawn on a canvas, to be pointed at, dragged over, and gone through by the keyboard. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { pictureOf } from '../charts/chart';
import { heightOf } from '../charts/bars';
import { colorsAt, penOf } from '../charts/colors';
import { words } from '../charts/column';
import { left, type Box, type Drawn, type Flags, type Picture, type Setting } from '../charts/picture';
import type { ChartProps } from './chartcard';
import { Tooltip } from './tooltip';
import { useBrushing } from './usebrushing';
import { useSize, type Size } from './usesize';

export function Plot(props: ChartProps) {
  const { view, drawn, ask, change, fit, theme, brush } = props;
  const plot = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(plot);
  const setting = useSetting(plot.current, size, theme, fit);
  const { chart, full, now, lit, brushed } = drawn;
  const picture = useMemo(() => (setting === null ? null : pictureOf(drawn, setting)), [chart, full, now, setting]);
  const hands = useBrushing(drawn, picture, brush);

  useLayoutEffect(() => {
    const pen = canvas.current?.getContext('2d') ?? null;
    if (pen !== null && picture !== null && setting !== null) {
      draw(pen, picture, drawn, setting);
    }
  }, [picture, lit, brushed, setting]);

  const { lasso, pointed } = hands;
  const tall = setting === null ? 0 : heightOf(drawn, setting.measure, setting.width);
  return (
    <div class="bd-stage">
      <div
        ref={plot}
        class="bd-plot"
        style={tall > 0 ? { minHeight: `${tall}px` } : undefined}
        tabIndex={0}
        role="application"
        aria-roledescription={`${drawn.chart.kind === 'heat' ? 'heat map' : drawn.chart.kind} chart`}
        aria-label={labelOf(drawn)}
        {...hands.events}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {lasso !== null && <div class="bd-lasso" style={placed(lasso)} />}
        {pointed !== null && picture !== null && (
          <div
            class={pointed.by === 'keys' ? 'bd-cursor bd-keyed' : 'bd-cursor'}
            style={placed(ring(picture.box(pointed.mark)))}
          />
        )}
      </div>
      {pointed !== null && picture !== null && lasso === null && (
        <Tooltip
          view={view}
          mark={pointed.mark}
          drawn={drawn}
          ask={ask}
          change={change}
          at={picture.box(pointed.mark)}
          width={size.width}
          height={size.height}
        />
      )}
      <span class="bd-spoken" aria-live="polite">
        {pointed?.by === 'keys' ? spoken(drawn, pointed.mark) : ''}
      </span>
    </div>
  );
}

/** In what a chart is drawn; null while it has no size. */
function useSetting(
  element: HTMLElement | null,
  { width, height, ratio }: Size,
  theme: number,
  fit: boolean
): Setting | null {
  return useMemo(() => {
    const pen = penOf(1, 1);
    if (element === null || pen === null || width < 40 || height < 40) {
      return null;
    }
    const style = getComputedStyle(element);
    const font = `${style.fontSize} ${style.fontFamily}`;
    pen.font = font;
    const measure = (text: string): number => pen.measureText(text).width;
    return { width, height, ratio, colors: colorsAt(element), font, measure, fit };
  }, [element, width, height, ratio, theme, fit]);
}

function draw(pen: CanvasRenderingContext2D, picture: Picture, flags: Flags, { width, height, ratio }: Setting): void {
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (pen.canvas.width !== wide || pen.canvas.height !== tall) {
    pen.canvas.width = wide;
    pen.canvas.height = tall;
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  picture.draw(pen, flags);
}

const placed = ({ left, top, right, bottom }: Box) => ({
  left: `${left}px`,
  top: `${top}px`,
  width: `${right - left}px`,
  height: `${bottom - top}px`
});

/** Around a mark, and not smaller than an eye needs. */
function ring(box: Box): Box {
  const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const [wide, tall] = [Math.max(8, box.right - box.left) / 2, Math.max(8, box.bottom - box.top) / 2];
  return { left: x - wide - 2, right: x + wide + 2, top: y - tall - 2, bottom: y + tall + 2 };
}

function labelOf({ chart, full }: Drawn): string {
  const drawn = [full.y, full.x].filter(each => each !== undefined).map(each => each.name);
  const colour = full.color === undefined ? '' : `, colour ${full.color.name}`;
  return `${chart.name}: ${drawn.join(' by ')}${colour}`;
}

function spoken(drawn: Drawn, mark: number): string {
  const roles = (['x', 'y', 'color'] as const).map(role => left(drawn, role)).filter(each => each !== undefined);
  const brushed = drawn.brushed?.[mark] === 1 ? ', brushed' : '';
  return `${roles.map(each => `${each.name} ${words(each, mark)}`).join(', ')}${brushed}`;
}
