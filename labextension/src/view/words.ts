/** Numbers and times as words. Everything that is shown is English, so are its numbers. */

const NUMBER = new Intl.NumberFormat('en-US');
const SECONDS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const PARTS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 });
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** `1,000 records`; the noun alone has its plural in -s. */
export function counted(count: number, noun: string): string {
  return `${NUMBER.format(count)} ${noun}${count === 1 ? '' : 's'}`;
}

export function number(count: number): string {
  return NUMBER.format(count);
}

export function seconds(taken: number): string {
  return `${(taken < 1 ? PARTS : SECONDS).format(taken)} s`;
}

/** Bytes, in the units of `%lineage`. */
export function size(bytes: number): string {
  return bytes >= 1e5 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`;
}

/** The time of day of a moment, in seconds since 1970. */
export function time(moment: number): string {
  return TIME.format(moment * 1000);
}

/** The same with its day. */
export function day(moment: number): string {
  return DAY.format(moment * 1000);
}
