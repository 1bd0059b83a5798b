import { h, render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ANSWERS, changed, flagsOf, type Ask } from '../src/brushing';
import { Linked } from '../src/linked';
import { readAs, Refused } from '../src/payload';
import { BrushView } from '../src/view/brushview';
import { beside } from '../src/view/tooltip';
import { message, opened } from './brushes';

let host: HTMLElement;
let asked: [string, unknown][];
let problem: Refused | null;
let linked: Linked;

const ask = ((name: keyof typeof ANSWERS, content: unknown) => {
  asked.push([name, content]);
  const found = name === 'open' ? opened() : readAs(name, ANSWERS[name], message(`answer-${name}`));
  return problem === null ? Promise.resolve(found) : Promise.reject(problem);
}) as Ask;

beforeEach(() => {
  host = document.body.appendChild(document.createElement('div'));
  asked = [];
  problem = null;
  linked = new Linked(ask, draw);
});

afterEach(() => {
  render(null, host);
  host.remove();
});

function draw(): void {
  render(h(BrushView, { ask, linked, standing: linked.standing }), host);
}

/** Do something, and let answers come and be shown. */
async function then(action: () => void): Promise<void> {
  await act(action);
  for (let round = 0; round < 4; round += 1) {
    await act(() => new Promise(resolve => setTimeout(resolve)));
  }
}

const show = (): Promise<void> => then(() => void linked.open());
const card = (name: string): HTMLElement => host.querySelector<HTMLElement>(`section[aria-label="${name}"]`)!;
const button = (label: string, within: HTMLElement = host): HTMLButtonElement =>
  [...within.querySelectorAll('button')].find(each => each.textContent === label)!;
const brushed = (): string[] => [...host.querySelectorAll('.bd-brushed')].map(each => each.textContent);

test('each chart says how many marks it has, and what cannot be recomputed', async () => {
  await show();
  expect(host.querySelector('.bd-summary')!.textContent).toBe('4 linked views');
  expect(brushed()).toEqual(['5 marks', '5 marks', '3 marks', '8 marks']);
  expect(card('by word').textContent).toContain('The median is not recomputed.');
  expect(card('rows').textContent).toContain('Keeps its values');
  expect(host.querySelectorAll('.bd-plot canvas')).toHaveLength(3);
});

test('what the user wrote is text', async () => {
  await show();
  expect(card('rows').textContent).toContain('<script>alert(1)</script>');
  expect(host.querySelector('script, img')).toBeNull();
});

test('rows are brushed by their boxes, several with Shift, and Escape clears', async () => {
  await show();
  const boxes = [...card('rows').querySelectorAll('input')];
  const numbers = (readAs('page', ANSWERS.page, message('answer-page')) as { numbers: number[] }).numbers;
  await then(() => {
    boxes[1]!.click();
  });
  await then(() => {
    boxes[3]!.dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: true }));
  });
  expect(brushed()[3]).toBe('3 of 8 brushed');
  const flags = linked.standing.charts![3]!.brushed!;
  expect([...flags.keys()].filter(mark => flags[mark] === 1)).toEqual(numbers.slice(1, 4).sort((a, b) => a - b));
  await then(() => {
    boxes[0]!.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
  });
  expect(brushed()[3]).toBe('8 marks');
});

test('with Shift, rows are brushed from one of the same page and order on', async () => {
  await show();
  const boxes = (): HTMLInputElement[] => [...card('rows').querySelectorAll('input')];
  await then(() => {
    boxes()[1]!.click();
  });
  await then(() => {
    card('rows').querySelectorAll<HTMLButtonElement>('.bd-sort')[1]!.click();
  });
  await then(() => {
    boxes()[3]!.dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: true }));
  });
  expect(brushed()[3]).toBe('2 of 8 brushed');
});

test('a column orders the table, the other way round, and not any more', async () => {
  await show();
  const sorts: unknown[] = [];
  for (let click = 0; click < 3; click += 1) {
    await then(() => {
      card('rows').querySelectorAll<HTMLButtonElement>('.bd-sort')[1]!.click();
    });
    sorts.push(asked.at(-1)![1]);
  }
  const page = { view: 3, start: 0 };
  expect(sorts).toEqual([{ ...page, sort: 1, descending: true }, { ...page, sort: 1, descending: false }, page]);
});

test('a brush of Python is shown, and cleared by its button', async () => {
  await show();
  await then(() => {
    linked.hear(changed(message('event-brushed'))!);
  });
  expect(brushed()[0]).toBe('2 of 5 brushed');
  expect([...host.querySelectorAll('.bd-unlit')].length).toBeGreaterThan(0);
  asked = [];
  await then(() => {
    button('Clear', card('by word')).click();
  });
  expect(asked[0]).toEqual(['brush', { clauses: [{ view: 0, marks: null }] }]);
  expect(button('Clear all').disabled).toBe(true);
});

test('what a brush does to others can be chosen', async () => {
  await show();
  await then(() => {
    button('Highlight').click();
  });
  expect(asked.at(-1)).toEqual(['mode', { mode: 'highlight' }]);
  await then(() => {
    linked.hear({ ...changed(message('event-mode'))!, change: 1 });
  });
  expect(button('Highlight').getAttribute('aria-pressed')).toBe('true');
});

test('a kernel that does not answer is said, and asked again', async () => {
  problem = new Refused('The kernel of this view is gone.', 'Run the cell that shows it again.');
  await show();
  expect(host.querySelector('[role=alert]')!.textContent).toContain('The kernel of this view is gone.');
  problem = null;
  await then(() => {
    button('Look again').click();
  });
  expect(brushed()).toHaveLength(4);
  problem = new Refused('The kernel of this view is gone.', 'Run the cell that shows it again.');
  await then(() => {
    linked.brush(0, flagsOf(new DataView(new Uint8Array([3]).buffer), 5));
  });
  expect(host.querySelector('[role=alert]')!.textContent).toContain('Run the cell');
  expect(brushed()[0]).toBe('2 of 5 brushed');
});

test('fields stand where there is room', () => {
  const at = (left: number, top: number, size = 10) => ({ left, right: left + size, top, bottom: top + size });
  expect(beside(at(20, 20), 400, 300)).toMatchObject({ left: '33px', top: '38px' });
  expect(beside(at(380, 280), 400, 300)).toMatchObject({ right: '23px', bottom: '28px' });
  expect(beside({ left: 10, right: 30, top: 40, bottom: 290 }, 400, 300)).toMatchObject({ left: '28px', top: '40px' });
});

test('the rows behind a brush are read when somebody asks, and belong to that brush', async () => {
  await show();
  expect(host.querySelector('.bd-behind')).toBeNull();
  await then(() => {
    linked.hear(changed(message('event-brushed'))!);
  });
  expect(asked.some(([name]) => name === 'rows')).toBe(false);
  await then(() => {
    button('Show the rows behind the brush').click();
  });
  const behind = host.querySelector('.bd-behind')!;
  expect(behind.textContent).toContain('3 rows of log.txt are behind the brush.');
  expect([...behind.querySelectorAll('.bd-origin')].map(each => each.textContent)).toEqual([
    'flights.csv:1',
    'flights.csv:4',
    'flights.csv:7'
  ]);
  expect(behind.textContent).toContain('<script>alert(1)</script>');
  expect(host.querySelector('script, img')).toBeNull();
  await then(() => {
    linked.hear(changed(message('event-mode'))!);
  });
  expect(host.querySelector('.bd-behind table')).toBeNull();
});

test('why the rows behind a brush cannot be read is told', async () => {
  await show();
  await then(() => {
    linked.hear(changed(message('event-brushed'))!);
  });
  problem = new Refused('Spark is gone.', 'Start it anew.');
  await then(() => {
    button('Show the rows behind the brush').click();
  });
  expect(host.querySelector('.bd-behind [role=alert]')!.textContent).toContain('Spark is gone.');
});
