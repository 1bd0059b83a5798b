import { expect, it, test, vi } from 'vitest';
import { Asking, type Model } from '../src/asking';
import { readAs, Refused, writeRequest } from '../src/payload';
import { ANSWERS, moved, type Requests } from '../src/tracing';
import { lanes } from '../src/view/lanes';
import { goldenIn, names } from './golden';

interface Golden {
  id: number;
  content: Record<string, unknown>;
}

const message = (name: string): Golden => goldenIn('view', name) as Golden;

test('the widget writes the requests that the kernel reads', () => {
  expect(writeRequest(1, 'trace', {})).toEqual(message('request-trace'));
  expect(writeRequest(2, 'page', { at: 0, operator: 4, start: 0 })).toEqual(message('request-page'));
  expect(writeRequest(3, 'count', { at: 0, operator: 4 })).toEqual(message('request-count'));
  const move = { at: 0, operator: 4, numbers: [1, 3], move: 'back' } as const;
  expect(writeRequest(4, 'move', move)).toEqual(message('request-move'));
  expect(writeRequest(5, 'crumb', { at: 0 })).toEqual(message('request-crumb'));
  expect(writeRequest(6, 'crumb', { at: 7 })).toEqual(message('request-gone'));
  expect(writeRequest(7, 'export', { at: 0, operator: 4, form: 'csv' })).toEqual(message('request-export'));
});

const READ: (keyof Requests)[] = ['trace', 'page', 'count', 'export', 'move', 'crumb'];

it.each(READ)('the widget reads all of the answer to %s, and loses nothing of it', name => {
  expect(readAs(name, ANSWERS[name], message(`answer-${name}`))).toEqual(message(`answer-${name}`).content);
});

test('there is no golden file that is not read here', () => {
  const written = ['trace', 'page', 'count', 'export', 'move', 'crumb', 'gone'].map(name => `request-${name}`);
  expect(new Set(names('view'))).toEqual(
    new Set([...written, ...READ.map(name => `answer-${name}`), 'answer-refused'])
  );
});

test('a move is heard whoever made it, and nothing else is one', () => {
  expect(moved(message('answer-move'))?.at).toBe(1);
  expect(['answer-trace', 'answer-page', 'answer-refused'].map(name => moved(message(name)))).toEqual([
    null,
    null,
    null
  ]);
});

// ---- asking --------------------------------------------------------------------------------------------------------

class Line implements Model {
  readonly sent: Golden[] = [];
  private ears: ((content: unknown) => void)[] = [];
  goes: () => void = () => undefined;

  send(content: unknown): void {
    this.sent.push(content as Golden);
  }
  on(event: string, heard: (content?: unknown) => void): void {
    if (event === 'comm_live_update') {
      this.goes = heard;
    } else {
      this.ears.push(heard);
    }
  }
  off(_: string, heard: (content?: unknown) => void): void {
    this.ears = this.ears.filter(each => each !== heard);
  }
  /** The kernel answers: every widget of the view hears it. */
  say(name: string, id: number | undefined): void {
    this.ears.forEach(hear => {
      hear({ ...message(name), id });
    });
  }
}

test('each question gets its own answer, in whatever order they come', async () => {
  const line = new Line();
  const asking = new Asking<Requests, typeof ANSWERS>(line, ANSWERS);
  const page = asking.ask('page', { at: 0, operator: 4, start: 0 });
  const count = asking.ask('count', { at: 0, operator: 4 });
  line.say('answer-count', line.sent[1]?.id);
  line.say('answer-page', line.sent[0]?.id);
  expect((await count).count).toBe(4);
  expect((await page).rows).toHaveLength(4);
});

test('two widgets of one view do not take the answers of each other, and both hear of a move', async () => {
  const line = new Line();
  const [mine, other] = [vi.fn(), vi.fn()];
  const asking = new Asking<Requests, typeof ANSWERS>(line, ANSWERS, mine);
  const second = new Asking<Requests, typeof ANSWERS>(line, ANSWERS, other);
  const answer = asking.ask('move', { at: 0, operator: 4, numbers: [1], move: 'back' });
  line.say('answer-move', line.sent[0]?.id);
  expect((await answer).at).toBe(1);
  expect([mine.mock.calls.length, other.mock.calls.length]).toEqual([1, 1]);
  second.close();
  line.say('answer-crumb', 1);
  expect([mine.mock.calls.length, other.mock.calls.length]).toEqual([2, 1]);
});

test('a refusal, and a model that is gone, are told', async () => {
  const line = new Line();
  const asking = new Asking<Requests, typeof ANSWERS>(line, ANSWERS);
  const asked = asking.ask('crumb', { at: 7 });
  line.say('answer-refused', line.sent[0]?.id);
  await expect(asked).rejects.toThrow(/has changed meanwhile/);
  line.send = () => {
    throw new Error('no comm');
  };
  await expect(asking.ask('trace', {})).rejects.toBeInstanceOf(Refused);
});

test("what was asked of a kernel that goes before it answers is refused, and an answer that comes in spite of that is nobody's", async () => {
  const line = new Line();
  const asking = new Asking<Requests, typeof ANSWERS>(line, ANSWERS);
  const asked = asking.ask('trace', {});
  line.goes();
  await expect(asked).rejects.toThrow('The kernel of this view is gone.');
  line.say('answer-page', line.sent[0]?.id);
  asking.close();
});

// ---- lanes ---------------------------------------------------------------------------------------------------------

it.each([
  ['a chain has one lane', [[], [1], [2]], [0, 0, 0]],
  ['two sources meet in a join', [[], [], [1, 2], [3]], [0, 1, 0, 0]],
  ['a diamond keeps the way that passes', [[], [1], [1], [2, 3]], [0, 1, 0, 1]],
  ['a self-join reads one operator twice', [[], [1, 1]], [0, 0]],
  ['a lane that is free is taken again', [[], [], [1, 2], [], [3, 4]], [0, 1, 0, 1, 0]]
])('%s', (_, parents, expected) => {
  const rows = lanes(parents.map((each, at) => ({ id: at + 1, parents: each })));
  expect(rows.map(row => row.lane)).toEqual(expected);
  for (const [at, row] of rows.entries()) {
    const before = rows.slice(0, at);
    expect(row.from).toEqual([...new Set(parents[at])].map(parent => before.find(each => each.id === parent)?.lane));
    expect(row.on && row.past.includes(row.lane)).toBe(false);
  }
});
