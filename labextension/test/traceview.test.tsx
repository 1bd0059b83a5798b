import { h, render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type * as v from 'valibot';
import { readAs, Refused } from '../src/payload';
import { ANSWERS, type Ask, type Page, type Requests, type Standing } from '../src/tracing';
import { TraceView } from '../src/view/traceview';
import { goldenIn } from './golden';

const HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> \\x1b[2J \\u202egnp.exe \\ud800 שלום & $x$';

const answer = <Name extends keyof Requests>(name: Name) =>
  readAs(name, ANSWERS[name], goldenIn('view', `answer-${name}`)) as v.InferOutput<(typeof ANSWERS)[Name]>;

let host: HTMLElement;
let asked: [string, unknown][];
let problem: Refused | null;
let page: Page;

beforeEach(() => {
  host = document.body.appendChild(document.createElement('div'));
  asked = [];
  problem = null;
  page = answer('page');
});

afterEach(() => {
  render(null, host);
  host.remove();
});

const ask: Ask = (name, content) => {
  asked.push([name, content]);
  const found = name === 'page' ? page : answer(name);
  return problem === null ? Promise.resolve(found as never) : Promise.reject(problem);
};

/** Do something, and let answers come and be shown: those to what is asked once an answer is shown, too. */
async function then(action: () => void): Promise<void> {
  await act(action);
  for (let round = 0; round < 3; round += 1) {
    await act(() => new Promise(resolve => setTimeout(resolve)));
  }
}

async function show(told: Standing | null = null): Promise<void> {
  await then(() => {
    render(h(TraceView, { ask, told }), host);
  });
}

async function press(label: string | RegExp): Promise<void> {
  const found = [...host.querySelectorAll('button')].find(each => each.textContent.match(label));
  await then(() => {
    found!.click();
  });
}

async function key(at: number, init: KeyboardEventInit): Promise<void> {
  await then(() => {
    boxes()[at]!.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init }));
  });
}

const boxes = (): HTMLInputElement[] => [...host.querySelectorAll<HTMLInputElement>('tbody input')];
const shown = (selector: string): string[] => [...host.querySelectorAll(selector)].map(each => each.textContent);
const lastAsked = (): [string, unknown] => asked.at(-1)!;

test('the records where the trace stands are shown beside the operators, with all that the user wrote as text', async () => {
  await show();
  expect(shown('tbody tr')).toHaveLength(4);
  expect(shown('tbody td')).toContain(`'${HOSTILE}'`);
  expect(shown('.bd-graph .bd-name').join()).toContain(HOSTILE);
  expect(host.querySelectorAll('script, img, b')).toHaveLength(0);
  expect(shown('.bd-count')[0]).toContain('4 records');
  expect(shown('[aria-current=step]')).toHaveLength(1);
  expect(shown('.bd-graph .bd-culprits')).toEqual(['3 culprits', '1 culprit']);
});

test('chosen records go back, and all do if none is chosen', async () => {
  await show();
  await press('Step back');
  expect(lastAsked()).toEqual(['move', { at: 0, operator: 4, numbers: [], move: 'back' }]);
  await act(() => {
    boxes()[1]!.click();
  });
  await act(() => {
    host.querySelectorAll('tbody tr')[3]!.querySelector<HTMLElement>('.bd-value')!.click();
  });
  expect(shown('.bd-from')).toEqual(['from 2 chosen records']);
  await press('Sources');
  expect(lastAsked()).toEqual(['move', { at: 0, operator: 4, numbers: [1, 3], move: 'sources' }]);
  await press(/^map/);
  expect(lastAsked()).toEqual(['move', { at: 0, operator: 4, numbers: [1, 3], move: 'to', to: 2 }]);
});

test('the keyboard goes from record to record, and back from one', async () => {
  await show();
  boxes()[0]!.focus();
  await key(0, { key: 'ArrowDown' });
  expect(document.activeElement).toBe(boxes()[1]);
  await key(1, { key: 'Enter' });
  expect(lastAsked()).toEqual(['move', { at: 0, operator: 4, numbers: [1], move: 'back' }]);
  await key(1, { key: 'Enter', shiftKey: true });
  expect(lastAsked()).toEqual(['move', { at: 0, operator: 4, numbers: [1], move: 'ahead' }]);
});

test('after a move the way is shown, and leads back', async () => {
  await show(answer('move'));
  expect(shown('.bd-crumbs button')).toHaveLength(2);
  expect(shown('.bd-crumbs [aria-current]')[0]).toMatch(/^back from 2 records: /);
  await press(new RegExp(HOSTILE.slice(0, 8)));
  expect(lastAsked()).toEqual(['crumb', { at: 0 }]);
});

test('pages are asked for one at a time, and what was shown stays until the next is there', async () => {
  page = { ...answer('page'), more: true };
  await show();
  expect(lastAsked()).toEqual(['count', { at: 0, operator: 4 }]);
  const asks = asked.length;
  await press('Later');
  expect(asked.slice(asks)).toEqual([['page', { at: 0, operator: 4, start: 50 }]]);
  expect(shown('tbody tr')).toHaveLength(4);
});

test('what went wrong is said where it went wrong, with what to do', async () => {
  await show();
  problem = new Refused('No way leads there.', 'Go elsewhere.');
  await press('Step back');
  expect(shown('[role=alert]')).toEqual(['No way leads there.Go elsewhere.']);
  expect(shown('tbody tr')).toHaveLength(4);
  problem = null;
  await press('Step back');
  expect(shown('[role=alert]')).toEqual([]);
});

test('a view that the kernel refuses can be looked at again', async () => {
  problem = new Refused('This run has been forgotten.', 'Run the job again.');
  await show();
  expect(shown('[role=alert]')[0]).toContain('forgotten');
  problem = null;
  await press('Look again');
  expect(shown('tbody tr')).toHaveLength(4);
});

test('while the kernel has not answered, it is said what is waited for, and nothing can be asked twice', async () => {
  const never: Ask = () => new Promise(() => undefined);
  await then(() => {
    render(h(TraceView, { ask: never, told: null }), host);
  });
  expect(shown('[role=status]')[0]).toMatch(/^Asking the kernel….*run the cell of this view again/);
  render(null, host);
  await show();
  await then(() => {
    render(h(TraceView, { ask: never, told: null }), host);
  });
  await press('Step back');
  expect(shown('.bd-busy')[0]).toMatch(/^Asking the kernel…/);
  expect([...host.querySelectorAll<HTMLButtonElement>('.bd-moves button')].every(each => each.disabled)).toBe(true);
});

test('all records are kept as a file, whatever page is shown, and what was refused is said', async () => {
  const kept: [string, Promise<string>][] = [];
  const blobs: Blob[] = [];
  vi.spyOn(URL, 'createObjectURL').mockImplementation(blob => `blob:${blobs.push(blob as Blob)}`);
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    kept.push([this.download, blobs.at(-1)!.text()]);
  });
  page = { ...answer('page'), more: true };
  await show();
  await press('Later');
  await press('CSV');
  expect(lastAsked()).toEqual(['export', { at: 0, operator: 4, form: 'csv' }]);
  const { name, text } = answer('export');
  expect(kept).toHaveLength(1);
  expect([kept[0]![0], await kept[0]![1]]).toEqual([name, text]);
  expect(shown('.bd-busy').join()).toContain(`4 records in ${name}`);
  problem = new Refused('A file for the browser has 10,000 records at most.', 'Narrow the trace.');
  await press('JSON');
  expect(shown('[role=alert]')).toEqual([`${problem.what}${problem.remedy}`]);
  expect(kept).toHaveLength(1);
  vi.restoreAllMocks();
});

test('three hundred columns are three hundred columns', async () => {
  const columns = Array.from({ length: 300 }, (_, at) => `c${at}`);
  page = { ...page, columns, left: 3, names: null, numbers: [0], rows: [columns] };
  await show();
  expect(shown('tbody td')).toHaveLength(301);
  expect(shown('thead th').at(-1)).toBe('and 3 columns more');
});

test('it is said that records follow which no page has', async () => {
  await show();
  expect(shown('.bd-look .bd-note')).toEqual([]);
  page = { ...answer('page'), beyond: true };
  render(null, host);
  await show();
  expect(shown('.bd-look .bd-note')[0]).toContain('only the first 4 are listed here');
});

test('records that were refused are asked for again when what was wrong has been mended, and others can still be', async () => {
  page = { ...answer('page'), more: true };
  await show();
  problem = new Refused('log.txt is not what it was when the run read it.', 'Put it back.');
  await press('Later');
  expect(shown('.bd-look [role=alert] .bd-what')).toEqual([problem.what]);
  expect(shown('.bd-pages')[0]).toContain('from record 51 on');
  problem = null;
  await press('Look again');
  expect(asked.filter(([name]) => name === 'page').map(([, content]) => content)).toMatchObject([
    { start: 0 },
    { start: 50 },
    { start: 50 }
  ]);
  expect(shown('[role=alert]')).toEqual([]);
  expect(shown('tbody tr')).toHaveLength(4);
  problem = new Refused('The job was cancelled.', 'Look again.');
  await press('Earlier');
  expect(shown('[role=alert]')).toHaveLength(1);
  expect(shown('.bd-pages')).toEqual([]);
});
