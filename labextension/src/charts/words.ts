/** Numbers and moments in words, as short as an axis needs. Moments are those of a clock where the user is, kept as if in UTC. */

const EXACT = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 });
const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 4 });

const date = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options });

const YEAR = date({ year: 'numeric' });
const MONTH = date({ month: 'short' });
const DAY = date({ day: 'numeric', month: 'short' });
const DATE = date({ day: 'numeric', month: 'short', year: 'numeric' });
const MINUTE = date({ hour: '2-digit', minute: '2-digit' });
const SECOND = date({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const PART = date({ minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });

/** The earliest and the latest moment that has a date. */
const LAST = 8.64e15;

/** A number, to six digits if it is not whole. */
export function quantity(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) {
    return value.toExponential(3).replace('e+', 'e').replace('-', '−');
  }
  return (Number.isInteger(value) ? WHOLE : EXACT).format(value).replace('-', '−');
}

/** A number at an axis whose ticks are `step` apart. */
export function tick(value: number, step: number): string {
  const size = Math.abs(value);
  if (size >= 1e15 || (step < 1e-4 && size > 0)) {
    return quantity(value);
  }
  if (step >= 1e3 && size >= 1e4) {
    return COMPACT.format(value).replace('-', '−');
  }
  const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toLocaleString('en-US', { maximumFractionDigits: digits }).replace('-', '−');
}

/** A moment as a whole. */
export function moment(value: number, day: boolean): string {
  if (Math.abs(value) > LAST) {
    return quantity(value);
  }
  return day ? DATE.format(value) : `${DATE.format(value)}, ${SECOND.format(value)}`;
}

export type Unit = 'year' | 'month' | 'day' | 'minute' | 'second' | 'part';

/** A moment at an axis, in the unit of its ticks; the first one, and one where a larger unit begins, says more. */
export function timeTick(value: number, unit: Unit, first: boolean): string {
  if (Math.abs(value) > LAST) {
    return quantity(value);
  }
  const at = new Date(value);
  const january = at.getUTCMonth() === 0;
  const midnight = at.getUTCHours() === 0 && at.getUTCMinutes() === 0 && at.getUTCSeconds() === 0;
  switch (unit) {
    case 'year':
      return YEAR.format(at);
    case 'month':
      return first ? `${MONTH.format(at)} ${YEAR.format(at)}` : january ? YEAR.format(at) : MONTH.format(at);
    case 'day':
      return first || (january && at.getUTCDate() === 1) ? DATE.format(at) : DAY.format(at);
    case 'minute':
      return first || midnight ? DAY.format(at) : MINUTE.format(at);
    case 'second':
      return SECOND.format(at);
    case 'part':
      return PART.format(at);
  }
}
