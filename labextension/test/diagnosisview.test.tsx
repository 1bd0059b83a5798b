import { h } from 'preact';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ANSWERS, stands, type Ask, type Standing } from '../src/diagnosing';
import { readAs, Refused } from '../src/payload';
import { DiagnosisView } from '../src/view/diagnosisview';
import { goldenIn } from './golden';
import { Host } from './host';

const HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> \\x1b[2J \\u202egnp.exe \\ud800 שלום & $x$';

const standing = (name: string): Standing =>
  readAs('diagnosis', ANSWERS.diagnosis, goldenIn('diagnosis', `answer-${name}`)) as Standing;
const ENDED = stands(goldenIn('diagnosis', 'event-search'))!;
const RUNNING = standing('diagnosis');

let host: Host;
let asked: [string, unknown][];
let now: Standing;
let problem: Refused | null;

beforeEach(() => {
  host = new Host();
  asked = [];
  now = RUNNING;
  problem = null;
});

afterEach(() => {
  host.close();
});

const ask: Ask = (name, content) => {
  asked.push([name, content]);
  const records = () => readAs('records', ANSWERS.records, goldenIn('diagnosis', 'answer-records'));
  return problem === null ? Promise.resolve((name === 'records' ? records() : now) as never) : Promise.reject(problem);
};

const show = (told: Standing | null = null): Promise<void> => host.show(h(DiagnosisView, { ask, told }));

test('a search that runs says what it does, how far it is, and draws its course', async () => {
  await show();
  expect(host.texts('.bd-summary')[0]).toBe(`Localizing: output 2 of 3('${HOSTILE}', None)`);
  expect(host.texts('.bd-figure')).toEqual(['321', '2.8 s', '50,000', '700 records', '1 of 3 outputs']);
  expect(host.el.querySelectorAll('.bd-way')).toHaveLength(2);
  expect(host.el.querySelector('svg')?.getAttribute('aria-label')).toContain('700 after 2.8 s');
  expect(host.el.querySelectorAll('script, img')).toHaveLength(0);
});

test('as long as nothing smaller is known, nothing is said to be the best', async () => {
  now = { ...RUNNING, progress: { ...RUNNING.progress!, left: 50_000 } };
  await show();
  expect(host.texts('.bd-figure')[3]).toBe('–');
});

test('before an output is looked at, nothing is said of any', async () => {
  now = { ...RUNNING, course: [], progress: { ...standing('failed').progress! } };
  await show();
  expect(host.texts('.bd-summary')).toEqual(['Localizing…']);
  expect(host.texts('.bd-figures li')).toEqual(['tests0', 'time0 s']);
  expect(host.texts('.bd-step')[0]).toMatch(/^Finding the wrong outputs/);
  expect(host.button('Stop').disabled).toBe(false);
});

test('Stop is said once, and what is not heard yet is said to be so', async () => {
  await show();
  now = { ...RUNNING, at: 1 };
  await host.press('Stop');
  expect(asked.at(-1)).toEqual(['stop', {}]);
  expect(host.button('Stopping…').disabled).toBe(true);
  expect(host.texts('.bd-stopping .bd-late')[0]).toContain('an interruption ends the search');
  await show({ ...RUNNING, at: 3, stopping: true });
  expect(host.button('Stopping…').disabled).toBe(true);
  expect(host.texts('.bd-stopping .bd-late')).toEqual([]);
});

test('a Stop that the kernel refuses can be said again', async () => {
  await show();
  problem = new Refused('The kernel of this view is gone.', 'Run the cell again.');
  await host.press('Stop');
  expect(host.texts('[role=alert]')[0]).toContain('is gone');
  expect(host.button(/^Stop$/).disabled).toBe(false);
});

test('what is told later is shown, and what was said earlier is not', async () => {
  await show({ ...RUNNING, at: 5, progress: { ...RUNNING.progress!, tests: 999 } });
  expect(host.texts('.bd-figure')[0]).toBe('999');
  await show(ENDED);
  expect(host.texts('.bd-figures')).toEqual([]);
  expect(host.texts('.bd-verdict')[0]).toBe('ambiguous');
});

test('a diagnosis has its fault sets with records, outputs, evidence and what might be instead', async () => {
  await show(ENDED);
  expect(host.texts('header')[0]).toMatch(/^ambiguousWithout 2 faults.*12,345 tests, 6.8 s$/);
  expect(host.texts('.bd-notice')[0]).toMatch(/^Not all was looked at: it was stopped\.What is below is the best/);
  expect(host.texts('.bd-fault h4')).toEqual(['1. 2 recordsculprit', '2. 1 recordambiguous']);
  expect(host.texts('.bd-fault:first-of-type td')).toEqual([
    '/data/log.txt:7',
    '1.00',
    "'oslo'",
    '-999.0',
    'None',
    '/data/log.txt:12',
    '0.25',
    `'${HOSTILE}'`,
    'nan',
    "b'\\x00'"
  ]);
  expect(host.texts('.bd-outputs')[0]).toContain("2 wrong outputs: ('oslo', -41.5)");
  expect(host.texts('.bd-evidence li')[0]).toContain('/data/log.txt:7');
  expect(host.texts('.bd-instead summary')).toEqual(['2 other sets might be the cause instead']);
  expect(host.texts('.bd-instead li')).toHaveLength(2);
  expect(host.texts('.bd-ranking summary')[0]).toContain('3 records');
  expect(host.el.querySelectorAll('script, img')).toHaveLength(0);
});

test('records of a large fault set come by pages', async () => {
  const [fault, ...others] = ENDED.diagnosis!.faults;
  const large = { ...fault!, records: { ...fault!.records, total: 45 } };
  await show({ ...ENDED, diagnosis: { ...ENDED.diagnosis!, faults: [large, ...others] } });
  expect(host.texts('.bd-pages span')).toEqual(['records 1 to 20 of 45']);
  await host.press('Later');
  expect(asked.at(-1)).toEqual(['records', { fault: 0, start: 20 }]);
  await host.press('Later');
  expect(host.texts('.bd-pages span')).toEqual(['records 41 to 45 of 45']);
  expect(host.button('Later').disabled).toBe(true);
});

test('a search that raised says what, and what to do', async () => {
  now = standing('failed');
  await show();
  expect(host.texts('[role=alert]')[0]).toMatch(/^No output is wrong \(got '<script>.*Say which are\.$/);
});

test('a search that has not begun says how it begins', async () => {
  now = standing('waiting');
  await show();
  expect(host.texts('[role=status]')[0]).toContain('has not begun');
  expect(host.texts('button')).toEqual([]);
});

test('a view that the kernel refuses can be looked at again', async () => {
  problem = new Refused('This is wrong.', 'Do that.');
  await show();
  expect(host.texts('[role=alert]')[0]).toContain('This is wrong.');
  problem = null;
  await host.press('Look again');
  expect(host.texts('.bd-figure')).toHaveLength(5);
});
