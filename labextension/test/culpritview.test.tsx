import { h, render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type * as v from 'valibot';
import { ANSWERS, told, type Ask, type Culprit, type Requests, type Standing } from '../src/crashing';
import { readAs, Refused } from '../src/payload';
import { CulpritView } from '../src/view/culpritview';
import { goldenIn } from './golden';

const HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> \\x1b[2J \\u202egnp.exe \\ud800 שלום & $x$';

const answer = <Name extends keyof Requests>(name: Name, file: string = name) =>
  readAs(name, ANSWERS[name], goldenIn('culprits', `answer-${file}`)) as v.InferOutput<(typeof ANSWERS)[Name]>;

let host: HTMLElement;
let asked: [string, unknown][];
let problem: Refused | null;
let standing: Standing;
let culprit: Culprit;

beforeEach(() => {
  host = document.body.appendChild(document.createElement('div'));
  asked = [];
  problem = null;
  standing = answer('culprits');
  culprit = answer('culprit');
});

afterEach(() => {
  render(null, host);
  host.remove();
});

const ask: Ask = (name, content) => {
  asked.push([name, content]);
  const known: Partial<Record<keyof Requests, unknown>> = {
    page: answer('page'),
    culprit,
    sources: answer('sources'),
    common: answer('common'),
    result: answer('result')
  };
  return problem === null ? Promise.resolve((known[name] ?? standing) as never) : Promise.reject(problem);
};

/** Do something, and let answers come and be shown: those to what is asked once an answer is shown, too. */
async function then(action: () => void): Promise<void> {
  await act(action);
  for (let round = 0; round < 4; round += 1) {
    await act(() => new Promise(resolve => setTimeout(resolve)));
  }
}

async function show(now: Standing | null = null): Promise<void> {
  await then(() => {
    render(h(CulpritView, { ask, told: now }), host);
  });
}

const button = (label: string | RegExp): HTMLButtonElement =>
  [...host.querySelectorAll('button')].find(each => each.textContent.match(label))!;

async function press(label: string | RegExp): Promise<void> {
  await then(() => {
    button(label).click();
  });
}

async function type(at: number, text: string): Promise<void> {
  await then(() => {
    const area = host.querySelectorAll('textarea')[at]!;
    area.value = text;
    area.dispatchEvent(new Event('input', { bubbles: true }));
  });
}

const shown = (selector: string): string[] => [...host.querySelectorAll(selector)].map(each => each.textContent);
const lastAsked = (): [string, unknown] => asked.findLast(([name]) => !['page', 'culprit', 'sources'].includes(name))!;

test('causes, the first culprit, its fields, its line and its sources are shown, with all that the user wrote as text', async () => {
  await show();
  expect(shown('.bd-causes button')).toHaveLength(2);
  expect(shown('.bd-causes [aria-current] .bd-number')).toEqual(['5']);
  expect(shown('.bd-fields th')).toEqual(['id', 'dep', 'note']);
  expect(shown('.bd-fields td')).toContain(`'${HOSTILE}'`);
  expect(shown('.bd-code')[0]).toBe('int(line.split()[1])');
  expect(shown('.bd-locals th')).toEqual(['line', 'n']);
  expect(shown('.bd-sources .bd-origin')).toEqual(['/data/log.txt:5']);
  expect(host.querySelectorAll('script, img, b')).toHaveLength(0);
});

test('one is skipped, all of a cause are, or all', async () => {
  await show();
  await press('Skip this one');
  expect(lastAsked()).toEqual(['skip', { of: 'culprit', at: 0, on: true }]);
  await press('of this cause');
  expect(lastAsked()).toEqual(['skip', { of: 'cause', at: 0, on: true }]);
  await press(/^Skip all$/);
  expect(lastAsked()).toEqual(['skip', { of: 'all', at: 0, on: true }]);
});

test('what is edited is sent as text, and what is not edited is not', async () => {
  await show();
  await press('Repair it');
  expect(shown('.bd-hint')[0]).toContain('read as a Python literal');
  await type(1, '__import__("os")\n17');
  await type(0, '2');
  await press('Put it in its place');
  expect(lastAsked()).toEqual(['repair', { number: 0, edits: [{ field: 1, text: '__import__("os")\n17' }] }]);
  expect(host.querySelectorAll('textarea')).toHaveLength(0);
});

test('a repair that cannot be read stays to be mended, and says why', async () => {
  await show();
  await press('Repair it');
  await type(0, 'x');
  problem = new Refused('id cannot be read as a Python literal.', 'Repair it in Python.');
  await press('Put it in its place');
  expect(shown('[role=alert]')).toEqual(['id cannot be read as a Python literal.Repair it in Python.']);
  expect(host.querySelector('textarea')!.value).toBe('x');
});

test('a repaired record shows what it was, is edited on from there, and can be taken back', async () => {
  culprit = answer('culprit', 'repaired');
  await show();
  expect(shown('ins')).toEqual(["'17'", 'None']);
  expect(shown('del')[0]).toBe("'NA'");
  await press('Repair it otherwise');
  expect([...host.querySelectorAll('textarea')].map(area => area.value)).toEqual(['2', '17', '']);
  await type(1, 'NA');
  await type(2, culprit.fields[2]!.text!);
  await press('Put it in its place');
  expect(lastAsked()).toEqual(['restore', { number: 0 }]);
  await press('Take the repair back');
  expect(lastAsked()).toEqual(['restore', { number: 0 }]);
});

test('a function is taken as its cell defines it, by its name, taken anew, and taken back', async () => {
  await show();
  expect(shown('details').join()).toContain('Edit the function in its cell');
  await press('Call it as it is defined now');
  expect(lastAsked()).toEqual(['fix', { number: 0, on: true }]);
  culprit = answer('culprit', 'fixed');
  await show(answer('fix'));
  expect(shown('details').join()).toContain(`Fixed by ${culprit.fix.by}.`);
  expect(shown('.bd-resume')[0]).toContain('1 repaired · 4 fixed');
  await press('Take it as it is defined now');
  expect(lastAsked()).toEqual(['fix', { number: 0, on: true }]);
  await press('Take the fix back');
  expect(lastAsked()).toEqual(['fix', { number: 0, on: false }]);
});

test('what is not edited as text says why', async () => {
  const [first, ...others] = culprit.fields;
  culprit = { ...culprit, fields: [{ ...first!, text: null, why: 'It is longer.' }, ...others] };
  await show();
  await press('Repair it');
  expect(host.querySelectorAll('textarea')).toHaveLength(2);
  expect(shown('.bd-hint')[0]).toBe('It is longer.');
});

test('nothing is resumed while something is open', async () => {
  await show();
  expect(button(/^Resume$/).disabled).toBe(true);
  expect(shown('.bd-resume')[0]).toContain('The job would crash on what is open as before');
  await show({ ...standing, change: 9, all: true, decided: { skipped: 5, repaired: 1, fixed: 0, open: 0 } });
  await press(/^Resume$/);
  expect(lastAsked()).toEqual(['resume', {}]);
});

test('how far a resume is, is told, and it can be stopped', async () => {
  await show({ ...standing, change: 9, doing: { what: 'resuming', seconds: 3.5, tasks: 12, of: null } });
  expect(shown('.bd-doing span')).toEqual(['Resuming: 3.5 s, 12 tasks ended']);
  expect(host.querySelector('progress')!.position).toBe(-1);
  expect(button(/^Resume$/).disabled).toBe(true);
  await press('Stop');
  expect(lastAsked()).toEqual(['stop', {}]);
});

test('of how many tasks a resume has ended how many is told where that is known', async () => {
  await show({ ...standing, change: 9, doing: { what: 'resuming', seconds: 3.5, tasks: 3, of: 12 } });
  expect(shown('.bd-doing span')).toEqual(['Resuming: 3.5 s, 3 of 12 tasks ended']);
  expect(host.querySelector('progress')!.position).toBe(0.25);
  await show({ ...standing, change: 10, doing: { what: 'resuming', seconds: 3.5, tasks: 13, of: 12 } });
  expect(shown('.bd-doing span')).toEqual(['Resuming: 3.5 s, 13 tasks ended']);
});

test('what a resume would compute, stage by stage, and what it reaches is said before', async () => {
  const repaired = answer('repair');
  await show({ ...repaired, change: 9 });
  expect(shown('.bd-forecast > p')).toEqual(repaired.forecast!.said);
  expect(shown('.bd-forecast summary')).toEqual(['The 2 stages']);
  expect(shown('.bd-stages td').slice(1, 3)).toEqual(['8', '5']);
  expect(shown('.bd-stages td')[3]).toContain('<script>alert(1)</script>');
  await show({ ...repaired, change: 10, forecast: { said: ['The query runs once more.'], stages: [], left: 0 } });
  expect(host.querySelector('.bd-stages')).toBeNull();
  await show(told(goldenIn('culprits', 'event-culprits')));
  expect(host.querySelector('.bd-forecast')).toBeNull();
});

test('a run that cannot be resumed says why', async () => {
  await show({ ...standing, change: 9, refused: 'save() writes. Collect it.', forecast: null });
  expect(shown('.bd-resume')[0]).toContain('save() writes. Collect it.');
  expect(button(/^Resume$/).disabled).toBe(true);
});

test('what culprits have in common is read when somebody asks', async () => {
  await show();
  expect(asked.some(([name]) => name === 'common')).toBe(false);
  await press('in common');
  expect(shown('.bd-common li')).toHaveLength(2);
  expect(shown('.bd-common .bd-origin')).toEqual(['/data/log.txt:5']);
  expect(shown('.bd-common li')[0]).toContain('behind 6: ');
  expect(shown('.bd-common li')[1]).toContain('2 culprits met the same:<script>');
  expect(host.querySelectorAll('script, img')).toHaveLength(0);
});

test('a single culprit has nothing in common with others', async () => {
  await show({ ...standing, change: 9, known: 1 });
  expect(host.querySelector('.bd-common')).toBeNull();
});

test('the result, what was computed and what crashed again are shown', async () => {
  await show(told(goldenIn('culprits', 'event-culprits')));
  expect(shown('.bd-outcome')[0]).toContain('2 partitions computed, 3 reused; 1 record crashed as before');
  expect(shown('.bd-outcome')[0]).not.toContain('made of');
  expect(shown('[role=alert]')[0]).toContain(
    '1 record that had been repaired or fixed crashed again, and is not in the result.'
  );
  expect(shown('.bd-records td')).toContain("'repair'");
  expect(shown('.bd-records td')).toContain("Flight(id=2, dep='17', note=None)");
});

test('a result of what was decided before is told to be that', async () => {
  const known = told(goldenIn('culprits', 'event-culprits'))!;
  await show(known);
  expect(shown('.bd-resume')[0]).not.toContain('an earlier resume');
  await show({ ...known, resumed: { ...known.resumed!, latest: false, reached: 1 } });
  expect(shown('.bd-outcome')[0]).toContain('1 output is made of what the repaired ones came from.');
  expect(shown('.bd-resume')[0]).toContain('an earlier resume');
});

test('why a resume failed is told, and what was decided is still there', async () => {
  const failed = { what: ['The job crashed: 1 record crashed.', '  in map'], remedy: 'Change it.' };
  await show({ ...standing, change: 9, problem: failed, decided: { skipped: 5, repaired: 1, fixed: 0, open: 0 } });
  expect(shown('[role=alert] .bd-what')).toEqual(['The job crashed: 1 record crashed.\n  in map']);
  expect(shown('.bd-resume')[0]).toContain('1 repaired · 5 skipped · 0 open');
});

test('others are looked for when that is asked', async () => {
  standing = { ...standing, complete: false };
  await show();
  expect(shown('.bd-summary')[0]).toContain('6 culprits so far');
  await press('Find all');
  expect(lastAsked()).toEqual(['find', {}]);
});

test('a long list of culprits is turned page by page, and gone through by the keyboard', async () => {
  await show();
  const rows = [...host.querySelectorAll<HTMLButtonElement>('.bd-culprits button')];
  rows[0]!.focus();
  await then(() => {
    rows[0]!.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true }));
  });
  expect(asked.findLast(([name]) => name === 'culprit')).toEqual(['culprit', { number: 2 }]);
  await press(new RegExp(HOSTILE.slice(0, 8)));
  expect(asked.findLast(([name]) => name === 'page')).toEqual(['page', { cause: 1, start: 0 }]);
});

test('a view that the kernel refuses can be looked at again', async () => {
  problem = new Refused('The kernel is not well.', 'Look again.');
  await show();
  expect(shown('[role=alert]')[0]).toContain('not well');
  problem = null;
  await press('Look again');
  expect(shown('.bd-causes button')).toHaveLength(2);
});
