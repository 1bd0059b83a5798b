import { h, render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import type { Ask, Phase } from '../src/connection';
import { add, NOTHING } from '../src/heard';
import { readAnswer, readEvent, Refused } from '../src/payload';
import { DATASETS, PanelView, type PanelViewProps } from '../src/view/panelview';
import { golden } from './golden';

const HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> \\x1b[2J \\u202egnp.exe \\ud800 שלום & $x$';

const details = readAnswer('run', golden('answer-run'));
const heard = add(NOTHING, readEvent(golden('event-changes')))!;
const open: Phase = { is: 'open', heard };

const answers: Ask = name => (name === 'run' ? Promise.resolve(details as never) : Promise.reject(new Error(name)));

let host: HTMLElement;
let opened: Set<string>;

beforeEach(() => {
  opened = new Set();
  host = document.body.appendChild(document.createElement('div'));
});

afterEach(() => {
  render(null, host);
  host.remove();
});

/** As the panel shows it: what is opened stays open, also when something else is shown. */
async function show(view: Partial<PanelViewProps>): Promise<void> {
  const toggle = (key: string): void => {
    if (!opened.delete(key)) {
      opened.add(key);
    }
    draw();
  };
  const draw = (): void => {
    const props = {
      notebook: 'work.ipynb',
      phase: open,
      ask: answers,
      reveal: () => true,
      view: vi.fn(),
      again: vi.fn()
    };
    render(h(PanelView, { ...props, opened, toggle, ...view }), host);
  };
  await act(draw);
}

async function press(button: Element | null | undefined): Promise<void> {
  await act(async () => {
    (button as HTMLElement).click();
    await Promise.resolve();
  });
}

function shown(selector: string): string[] {
  return [...host.querySelectorAll(selector)].map(each => each.textContent);
}

test('leads to the datasets of a session, and of none where there is none', async () => {
  const view = vi.fn();
  await show({ view });
  await press(host.querySelector('[aria-label="Open datasets"]'));
  expect(view).toHaveBeenCalledWith(DATASETS, 'datasets');
  await show({ phase: { is: 'open', heard: { ...heard, session: null } }, view });
  expect(host.querySelector('[aria-label="Open datasets"]')).toBeNull();
});

describe('what is missing is said, and what to do', () => {
  it.each<[string | null, Phase | null, RegExp]>([
    [null, null, /No notebook is open/],
    ['work.ipynb', null, /has no kernel. Choose one/],
    ['work.ipynb', { is: 'asking' }, /Asking the kernel/],
    ['work.ipynb', { is: 'absent' }, /not loaded in this kernel.*%load_ext bigdebug/],
    ['work.ipynb', { is: 'dead' }, /has died.*Restart the kernel/],
    [
      'work.ipynb',
      { is: 'refused', why: new Refused('It is of another version.', 'Install it.') },
      /another version.*Install it/
    ],
    ['work.ipynb', { is: 'open', heard: NOTHING }, /No Spark session.*%%lineage/]
  ])('%j %j', async (notebook, phase, text) => {
    await show({ notebook, phase });
    expect(host.textContent).toMatch(text);
  });

  it('and looks again when it is told to', async () => {
    const again = vi.fn();
    await show({ phase: { is: 'absent' }, again });
    await press(host.querySelector('.bd-again'));
    expect(again).toHaveBeenCalledOnce();
  });
});

test('runs are listed, the latest first, with what is known of them', async () => {
  await show({});
  expect(shown('.bd-session')).toEqual(['3 runs of the Spark session my <b>app</b>']);
  expect(shown('.bd-name')).toEqual([HOSTILE, 'gone', 'errors', 'k, count(1)']);
  expect(shown('.bd-run .bd-facts')).toEqual(['collect', FACTS, FACTS, '']);
  expect(shown('.bd-head .bd-culprits')).toEqual(['4 culprits so far']);
});

test('DataFrames that were only asked about stand behind the runs, by themselves', async () => {
  await show({});
  const [aside] = host.querySelectorAll('details');
  expect(aside?.open).toBe(false);
  expect(aside?.querySelector('summary')?.textContent).toBe('1 DataFrame only asked about');
  expect(shown('details .bd-run .bd-head').map(each => each.replace(/\d\d:\d\d:\d\d/, ''))).toEqual(['?k, count(1)']);
  const alone = new Map([...heard.runs].filter(([id]) => id === 'r4'));
  await show({ phase: { is: 'open', heard: { ...heard, runs: alone } } });
  expect(shown('.bd-session')).toEqual(['0 runs of the Spark session my <b>app</b>']);
  expect(host.textContent).toContain('No run has been captured yet.');
});

const FACTS = 'collect · 1,000 records in · 5 outputs · 1.3 s in tasks · lineage 12.3 kB';

test('a run opens to its operators and the causes of its crashes, and closes', async () => {
  await show({});
  const [latest] = host.querySelectorAll('.bd-head');
  await press(latest);
  expect(latest?.getAttribute('aria-expanded')).toBe('true');
  expect(shown('.bd-body h3')).toEqual(['2 causes of crashes', '3 operators']);
  expect(shown('.bd-causes li')[0]).toBe(
    "3 culprits: ValueError: no digits in 'x'in map#2 at report.py:7the first on 'ERROR x'"
  );
  expect(shown('.bd-operators li')[0]).toBe('textFile source · log.txtreport.py:3');
  expect(shown('.bd-body .bd-note')).toEqual(['partition 3 is lost', 'Partition 3 was not looked at.']);
  await press(latest);
  expect(shown('.bd-body section')).toEqual([]);
});

test('what is open stays open while the kernel is asked anew', async () => {
  await show({});
  await press(host.querySelector('.bd-head'));
  await show({ phase: { is: 'asking' } });
  expect(shown('.bd-body')).toEqual([]);
  await show({});
  await act(() => Promise.resolve());
  expect(shown('.bd-body h3')).toEqual(['2 causes of crashes', '3 operators']);
});

test('what the user wrote is text, wherever it stands', async () => {
  await show({ notebook: HOSTILE });
  await press(host.querySelector('.bd-head'));
  expect(host.querySelectorAll('script, img, b')).toHaveLength(0);
  expect(shown('.bd-notebook')).toEqual([HOSTILE]);
  expect(shown('.bd-body bdi').filter(text => text === HOSTILE)).not.toHaveLength(0);
});

test('an open run is asked about again when more culprits are known, and shows what it knew meanwhile', async () => {
  const ask = vi.fn<(name: string) => Promise<unknown>>(() => Promise.resolve(details));
  await show({ ask: ask as unknown as Ask });
  await press(host.querySelector('.bd-head'));
  const [r1, r2, r3] = [...heard.runs.values()];
  const more = { ...r3!, culprits: { known: 9, complete: true } };
  const runs = new Map([r1!, r2!, more].map(run => [run.id, run]));
  ask.mockReturnValueOnce(new Promise(() => undefined));
  await show({ ask: ask as unknown as Ask, phase: { is: 'open', heard: { ...heard, runs } } });
  expect(ask).toHaveBeenCalledTimes(2);
  expect(shown('.bd-head .bd-culprits')).toEqual(['9 culprits']);
  expect(shown('.bd-body h3')).toEqual(['2 causes of crashes', '3 operators']);
});

test('a run that is gone says so where it stood', async () => {
  await show({ ask: () => Promise.reject(new Refused('This run has been forgotten.', 'Run the job again.')) });
  await press(host.querySelector('.bd-head'));
  expect(shown('.bd-body [role=alert]')).toEqual(['This run has been forgotten.Run the job again.Look again']);
});

test('an open run leads to its cell, or says that it is gone', async () => {
  const reveal = vi.fn((cell: string) => cell !== 'cell-3');
  await show({ reveal });
  await press(host.querySelector('.bd-head'));
  await press(host.querySelector('.bd-cell'));
  expect(reveal).toHaveBeenCalledWith('cell-3');
  expect(shown('.bd-body .bd-note')[0]).toBe('Its cell is not in this notebook any more.');
});

test('an open run leads to its records, and to its culprits where it has any', async () => {
  const view = vi.fn();
  await show({ view });
  const [latest, , first] = host.querySelectorAll('.bd-head');
  await press(latest);
  await press(first);
  const ways = [...host.querySelectorAll<HTMLElement>('.bd-run .bd-ways button')];
  expect(ways.map(each => each.textContent)).toEqual([
    'Records',
    'Culprits',
    'Show its cell',
    'Records',
    'Show its cell'
  ]);
  await press(ways[1]);
  await press(ways[3]);
  expect(view.mock.calls.map(([run, kind]) => [(run as { id: string }).id, kind as string])).toEqual([
    ['r3', 'culprits'],
    ['r1', 'trace']
  ]);
});

test('watches that are on are shown with the latest that they know, and go when they are off', async () => {
  const view = vi.fn();
  await show({ view });
  expect(shown('.bd-watches h3')).toEqual([' Watch on map#2 at report.py:7']);
  expect(shown('.bd-watches .bd-facts')).toEqual([
    '12,345 matched · 7 kept · 12,338 not sent · 1 call longer than 10 s · 1 slow record'
  ]);
  expect(shown('.bd-watches h4')).toEqual([
    'the latest 5',
    'calls beyond the timeout',
    'slow records',
    'the guard raised 2 times'
  ]);
  expect(shown('.bd-watches .bd-bad')).toEqual([
    "runs for 12.3 s('hangs', 1)report.py:7",
    'TypeError: not a <b>text</b>on Nonereport.py:7'
  ]);
  expect(shown('.bd-watches .bd-record')).toContain(HOSTILE);
  await press(host.querySelector('.bd-watches button'));
  expect(view).toHaveBeenCalledWith({ id: 'w1', began: null, name: 'map#2 at report.py:7' }, 'watch');
  expect(shown('.bd-watches .bd-note')).toEqual(['the driver could not be reached (1 task)']);
  await show({ phase: { is: 'open', heard: { ...heard, watches: [] } } });
  expect(shown('.bd-watches')).toEqual([]);
});
