/** Colours of the theme, as the styles have them, and those that tell values apart. All are safe for the colour-blind (Okabe and Ito). */

export type Rgb = readonly [red: number, green: number, blue: number];

const NAMES = ['back', 'ink', 'faint', 'line', 'mark', 'ghost', 'brushed', 'low', 'middle', 'high'] as const;

export type Colors = Readonly<Record<(typeof NAMES)[number], Rgb>> & { readonly series: readonly Rgb[] };

const SERIES = 7;

/** The colours that hold at an element now. */
export function colorsAt(element: HTMLElement): Colors {
  const probe = element.appendChild(document.createElement('span'));
  const pen = penOf(1, 1);
  const named = (name: string): string => {
    probe.style.color = `var(--bd-${name})`;
    return getComputedStyle(probe).color;
  };
  const back = named('back');
  const read = (name: string): Rgb => (pen === null ? [0, 0, 0] : bytes(pen, back, named(name)));
  const found = Object.fromEntries(NAMES.map(name => [name, read(name)])) as Record<(typeof NAMES)[number], Rgb>;
  const series = Array.from({ length: SERIES }, (_, at) => read(`series${at}`));
  probe.remove();
  return { ...found, series };
}

/** A canvas of that many pixels to draw on; null where there is none. */
export function penOf(width: number, height: number): CanvasRenderingContext2D | null {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  return canvas.getContext('2d', { willReadFrequently: true });
}

/** A colour however it is written, as it is seen on the ground. */
function bytes(pen: CanvasRenderingContext2D, ground: string, color: string): Rgb {
  for (const each of [ground, color]) {
    pen.fillStyle = each;
    pen.fillRect(0, 0, 1, 1);
  }
  const [red = 0, green = 0, blue = 0] = pen.getImageData(0, 0, 1, 1).data;
  return [red, green, blue];
}

export function css([red, green, blue]: Rgb, alpha = 1): string {
  return `rgb(${red} ${green} ${blue} / ${alpha})`;
}

export function mix(one: Rgb, other: Rgb, share: number): Rgb {
  const part = (at: 0 | 1 | 2): number => Math.round(one[at] + (other[at] - one[at]) * share);
  return [part(0), part(1), part(2)];
}

/** The colour of a share of the way from the least value to the largest. */
export function ramp(colors: Colors, share: number): Rgb {
  return share < 0.5
    ? mix(colors.low, colors.middle, Math.max(0, share) * 2)
    : mix(colors.middle, colors.high, Math.min(1, share) * 2 - 1);
}

/** The colour of a name; names beyond those that can be told apart share one. */
export function seriesColor(colors: Colors, name: number): Rgb {
  return name < 0 ? colors.faint : (colors.series[Math.min(name, SERIES - 1)] ?? colors.mark);
}
