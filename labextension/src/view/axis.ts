/** Axes of a small chart: where values stand, and which ones are written beside. */

/** Values at which a linear axis from 0 is marked: some four of them, at 1, 2 or 5 times a power of ten. */
export function ticks(most: number): number[] {
  if (!(most > 0)) {
    return [0];
  }
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = power * ([1, 2, 5].find(each => most / (each * power) <= 4.5) ?? 10);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, at) => Number((at * step).toPrecision(6)));
}

/** Powers of ten from 1 to at least `most`; of many, every second or third. */
export function powers(most: number): number[] {
  const top = Math.max(1, Math.ceil(Math.log10(Math.max(1, most)) - 1e-9));
  const step = Math.ceil(top / 4);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => 10 ** (at * step));
}

/** Where a number stands on a logarithmic axis from 1 to `most`, from 0 to 1. What is less than 1 stands at 1. */
export function logarithmic(value: number, most: number): number {
  return most <= 1 ? 0 : Math.min(1, Math.log10(Math.max(1, value)) / Math.log10(most));
}

/** `1,000` as `1k`, `2,000,000` as `2M`: there is little room beside an axis. */
export function short(value: number): string {
  return value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(value);
}
