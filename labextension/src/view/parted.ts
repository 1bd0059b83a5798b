/** What is different between two texts: what they begin and end with alike is left out. */

export interface Parted {
  readonly begin: string;
  /** What differs, of the old text and of the new one. */
  readonly old: string;
  readonly now: string;
  readonly end: string;
}

/** Two texts of values by their parts. Of numbers, and of texts that have little in common, all differs. */
export function parted(old: string, now: string): Parted {
  const all = { begin: '', old, now, end: '' };
  if (!/^b?['"[({]/.test(old) || !/^b?['"[({]/.test(now)) {
    return all;
  }
  const [one, other] = [Array.from(old), Array.from(now)];
  const shorter = Math.min(one.length, other.length);
  let begin = 0;
  while (begin < shorter && one[begin] === other[begin]) {
    begin += 1;
  }
  let end = 0;
  while (end < shorter - begin && one[one.length - 1 - end] === other[other.length - 1 - end]) {
    end += 1;
  }
  if (begin + end < Math.max(one.length, other.length) / 3) {
    return all;
  }
  return {
    begin: one.slice(0, begin).join(''),
    old: one.slice(begin, one.length - end).join(''),
    now: other.slice(begin, other.length - end).join(''),
    end: one.slice(one.length - end).join('')
  };
}
