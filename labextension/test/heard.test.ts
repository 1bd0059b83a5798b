import { expect, test } from 'vitest';
import { add, NOTHING } from '../src/heard';
import { readAnswer, readEvent, type Changes } from '../src/payload';
import { golden } from './golden';

const all = readEvent(golden('event-changes'));
const later = readAnswer('changes', golden('answer-changes'));

function heardOf(...changes: Changes[]) {
  return changes.reduce((heard, each) => add(heard, each) ?? heard, NOTHING);
}

test('changes add up: runs come, change in their place, and go', () => {
  const heard = heardOf(all, later);
  expect([...heard.runs.keys()]).toEqual(['r1', 'r3', 'r4']);
  expect(heard.session?.running).toBe(false);
  const [first] = all.runs;
  const changed = { ...later, after: 2, upto: 3, forgotten: [], runs: [{ ...first!, name: 'changed' }] };
  expect([...(add(heard, changed)?.runs.values() ?? [])].map(run => run.name)[0]).toBe('changed');
});

test('watches stay as they were last told of', () => {
  const heard = heardOf(all);
  expect(heard.watches.map(watch => watch.id)).toEqual(['w1']);
  const same = { ...later, after: 2, upto: 3, watches: null };
  expect(add(heardOf(all, later), same)?.watches).toEqual(heard.watches);
  expect(add(heard, { ...same, after: 1, watches: [] })?.watches).toEqual([]);
});

test('what was heard before changes nothing', () => {
  const heard = heardOf(all, later);
  expect(add(heard, later)).toBe(heard);
});

test('what follows on something that was missed is not added', () => {
  expect(add(heardOf(all), { ...later, after: 5, upto: 6 })).toBeNull();
});

test('everything there is takes the place of all that was heard, also of another kernel', () => {
  expect([...heardOf(all, later, { ...all, upto: 1, runs: [] }).runs]).toEqual([]);
});
