import { h } from 'preact';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ANSWERS, type Ask, type Page, type Summary } from '../src/comparing';
import { readAs, Refused } from '../src/payload';
import { chosen } from '../src/view/changetable';
import { ComparisonView } from '../src/view/comparisonview';
import { goldenIn } from './golden';
import { Host } from './host';

const read = (name: 'comparison' | 'page', file: string) =>
  readAs(name, ANSWERS[name], goldenIn('comparison', `answer-${file}`));

let host: Host;
let asked: [string, unknown][];
let summary: Summary;
let page: Page;
let problem: Refused | null;

beforeEach(() => {
  host = new Host();
  asked = [];
  summary = read('comparison', 'comparison') as Summary;
  page = read('page', 'page') as Page;
  problem = null;
});

afterEach(() => {
  host.close();
});

const ask: Ask = (name, content) => {
  asked.push([name, content]);
  const found = name === 'comparison' ? summary : page;
  return problem === null ? Promise.resolve(found as never) : Promise.reject(problem);
};

const show = (): Promise<void> => host.show(h(ComparisonView, { ask }));

test('two results stand side by side, and what is different within them is marked', async () => {
  await show();
  expect(host.texts('header')[0]).toBe('4 changes3 outputs the same');
  expect(host.texts('tbody th')).toEqual(['changed', 'changed', 'removed', 'added']);
  expect(host.texts('tbody tr:first-child td')).toEqual(["'oslo'", '-41.5', 'None', "'oslo'", '12.25', 'None']);
  expect(host.texts('tbody tr:first-child mark')).toEqual(['-41.5', '12.25']);
  expect(host.texts('.bd-before mark')[1]).toBe('1');
  expect(host.texts('.bd-after mark')[1]).toBe('7');
  expect(host.texts('.bd-none')).toEqual(['is not there', 'was not there']);
  expect(host.el.querySelectorAll('script, img')).toHaveLength(0);
});

test('the inputs behind each change stand below it', async () => {
  await show();
  expect(host.texts('.bd-inputs summary')).toEqual([
    'Its inputs: 1 of before alone, 1 of after alone, 4 of both.',
    'It was made of 31 inputs.',
    'It is made of 2 inputs.'
  ]);
  expect(host.texts('.bd-gone')[0]).toBe("−('oslo', -999.0) sales[7]");
  expect(host.texts('.bd-inputs li.bd-facts')).toEqual(['and 11 more of before']);
  expect([...host.el.querySelectorAll('details')].map(each => each.open)).toEqual([true, false, true]);
});

test('changes are asked for by their kind, and by pages', async () => {
  page = { ...page, total: 90 };
  await show();
  expect(asked).toEqual([
    ['comparison', {}],
    ['page', { kind: 'all', start: 0 }]
  ]);
  await host.press('Later');
  expect(asked.at(-1)).toEqual(['page', { kind: 'all', start: 20 }]);
  expect(host.texts('.bd-pages span')).toEqual(['changes 21 to 40 of 90']);
  await host.press(/^removed 1/);
  expect(asked.at(-1)).toEqual(['page', { kind: 'removed', start: 0 }]);
  expect(host.button(/^removed/).getAttribute('aria-pressed')).toBe('true');
});

test('a kind of which there is none cannot be asked for, and results that are the same have nothing to show', async () => {
  summary = { ...summary, added: 0 };
  await show();
  expect(host.button(/^added 0/).disabled).toBe(true);
  host.close();
  host = new Host();
  summary = { changed: 0, added: 0, removed: 0, kept: 7, notes: [] };
  await show();
  expect(host.texts('header')[0]).toBe('The results are the same7 outputs the same');
  expect(host.texts('button')).toEqual([]);
});

test('of three hundred columns those that differ are shown, and all of them if asked for', async () => {
  const columns = Array.from({ length: 300 }, (_, at) => `c${at}`);
  const change = { ...page.changes[0]!, before: columns, after: columns, differ: [270, 299], inputs: null };
  page = { ...page, columns, changes: [change] };
  await show();
  expect(host.texts('thead tr:last-child th').slice(0, 6)).toEqual(['c0', 'c1', 'c2', 'c3', 'c270', 'c299']);
  expect(host.texts('.bd-width')[0]).toContain('all 300 fields: 6 are shown');
  await host.then(() => {
    host.el.querySelector<HTMLInputElement>('.bd-width input')!.click();
  });
  expect(host.texts('tbody td')).toHaveLength(600);
  expect(chosen({ ...page, columns: columns.slice(0, 6) }, false)).toHaveLength(6);
});

test('what differs beyond what is shown is marked as a whole', async () => {
  const change = { ...page.changes[0]!, before: ["'xx…"], after: ["'xx…"], differ: [0], inputs: null };
  page = { ...page, columns: ['record'], changes: [change] };
  await show();
  expect(host.texts('mark')).toEqual(["'xx…", "'xx…"]);
  expect(host.el.querySelector('mark')?.title).toContain('differ farther on');
});

test('what was not compared is said, and what is wrong is', async () => {
  await show();
  expect(host.texts('.bd-note')[0]).toContain('nobody has looked');
  host.close();
  host = new Host();
  problem = new Refused('This is wrong.', 'Do that.');
  await show();
  expect(host.texts('[role=alert]')[0]).toContain('This is wrong.Do that.');
  problem = null;
  await host.press('Look again');
  expect(host.texts('tbody th')).toHaveLength(4);
});
