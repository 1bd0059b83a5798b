/** A chart of any kind but a table. */
import type { Charted } from '../brushing';
import { bars } from './bars';
import { heat } from './heat';
import { line } from './line';
import type { Drawn, Picture, Setting } from './picture';
import { points } from './points';

const KINDS: Readonly<Record<Exclude<Charted['kind'], 'table'>, (drawn: Drawn, setting: Setting) => Picture>> = {
  bar: bars,
  histogram: bars,
  line,
  scatter: points,
  heat
};

export function pictureOf(drawn: Drawn, setting: Setting): Picture | null {
  return drawn.chart.kind === 'table' ? null : KINDS[drawn.chart.kind](drawn, setting);
}
