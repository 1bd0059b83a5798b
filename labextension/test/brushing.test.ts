import { expect, it, test } from 'vitest';
import { ANSWERS, bitsOf, changed, flagsOf, type Requests } from '../src/brushing';
import { takenOut } from '../src/buffers';
import { columnOf, special, words } from '../src/charts/column';
import { changedBy, Linked } from '../src/linked';
import { Latest } from '../src/latest';
import { readAs, Refused, writeRequest } from '../src/payload';
import type { Drawn } from '../src/charts/picture';
import { held, message, opened } from './brushes';
import { names } from './golden';

test('the widget writes the requests that the kernel reads', () => {
  const sent = (id: number, name: keyof Requests, content: unknown) => {
    const [said, buffers] = takenOut(writeRequest(id, name, content));
    return { message: said, buffers: buffers.map(each => Buffer.from(each).toString('base64')) };
  };
  const clauses = [
    { view: 0, marks: bitsOf(new Uint8Array([1, 0, 1, 0, 0])) },
    { view: 1, marks: null }
  ];
  expect(sent(1, 'open', {})).toEqual(held('request-open'));
  expect(sent(2, 'brush', { clauses })).toEqual(held('request-brush'));
  expect(sent(3, 'mode', { mode: 'highlight' })).toEqual(held('request-mode'));
  expect(sent(4, 'mark', { view: 0, mark: 1 })).toEqual(held('request-mark'));
  expect(sent(5, 'page', { view: 3, start: 0, sort: 1, descending: true })).toEqual(held('request-page'));
  expect(sent(6, 'mark', { view: 0, mark: 5 })).toEqual(held('request-gone'));
  expect(sent(7, 'rows', { start: 0 })).toEqual(held('request-rows'));
});

const READ: (keyof Requests)[] = ['open', 'brush', 'mode', 'mark', 'page', 'rows'];

it.each(READ)('the widget reads all of the answer to %s, and loses nothing of it', name => {
  expect(readAs(name, ANSWERS[name], message(`answer-${name}`))).toEqual(message(`answer-${name}`).content);
});

test('it hears of changes, whoever made them, and says why it was refused', () => {
  expect(changed(message('event-brushed'))).toEqual(message('event-brushed').content);
  expect(changed(message('event-mode'))?.mode).toBe('highlight');
  expect(changed(message('answer-open'))).toBeNull();
  expect(() => readAs('mark', ANSWERS.mark, message('answer-refused'))).toThrow(Refused);
  const written = ['open', 'brush', 'mode', 'mark', 'page', 'rows', 'gone'].map(name => `request-${name}`);
  const read = [...READ.map(name => `answer-${name}`), 'answer-refused', 'event-brushed', 'event-mode'];
  expect(new Set(names('brush'))).toEqual(new Set([...written, ...read]));
});

test('bits are flags', () => {
  const flags = new Uint8Array([1, 0, 0, 1, 1, 0, 1, 0, 1, 1]);
  expect(flagsOf(new DataView(bitsOf(flags).buffer as ArrayBuffer), 10)).toEqual(flags);
  expect(bitsOf(new Uint8Array(0))).toHaveLength(0);
});

test('every value has its words, also those that are none', () => {
  const [byWord, bySize] = opened()
    .charts.slice(0, 2)
    .map(chart => columnOf(chart.channels.x!, chart.marks));
  expect([0, 1, 2, 3, 4].map(mark => special(byWord!, mark)).filter(each => each === 'NULL')).toHaveLength(1);
  expect([0, 1, 2, 3, 4].map(mark => words(bySize!, mark))).toEqual(['−2.5', '0', '1', '∞', 'NaN']);
  expect(byWord!.labels.some(label => label.startsWith('<script>alert(1)</script>'))).toBe(true);
});

// ---- what is brushed -----------------------------------------------------------------------------------------------

test('a change concerns the charts that it names, and none that a hand is brushing', () => {
  const { charts } = opened();
  const before: Drawn[] = charts.map(chart => ({ chart, full: {}, now: {}, lit: null, brushed: null }));
  const event = changed(message('event-brushed'))!;
  const after = changedBy(before, event, () => false);
  expect([...after[0]!.brushed!]).toEqual([1, 0, 1, 0, 0]);
  expect(after[0]!.lit).toBeNull();
  expect(after[1]!.now.y?.name).toBe('flights');
  expect(after[3]!.lit!.length).toBe(8);
  expect(changedBy(before, event, view => view === 0)[0]).toBe(before[0]);
});

/** A kernel that answers when it is told to. */
function kernel() {
  const asked: { name: string; content: unknown; answer: () => void; refuse: () => void }[] = [];
  const ask = (name: string, content: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const answer = (): void => {
        resolve(name === 'open' ? opened() : { change: 1 });
      };
      asked.push({
        name,
        content,
        answer,
        refuse: () => {
          reject(new Refused('The kernel of this view is gone.', 'Run the cell that shows it again.'));
        }
      });
    });
  return { asked, ask: ask as ConstructorParameters<typeof Linked>[0] };
}

const soon = (): Promise<void> => new Promise(resolve => setTimeout(resolve));

async function linked() {
  const { asked, ask } = kernel();
  const found = new Linked(ask, () => undefined);
  void found.open();
  asked.shift()!.answer();
  await soon();
  return { linked: found, asked };
}

const flags = (...marks: number[]): Uint8Array => Uint8Array.from({ length: 5 }, (_, mark) => +marks.includes(mark));

test('a brush is to be seen at once, and of many on the way only the latest is asked for', async () => {
  const { linked: found, asked } = await linked();
  for (const mark of [0, 1, 2, 3]) {
    found.brush(0, flags(mark));
  }
  found.brush(1, flags(4));
  expect([...found.standing.charts![0]!.brushed!]).toEqual([0, 0, 0, 1, 0]);
  expect(asked).toHaveLength(1);
  asked.shift()!.answer();
  await soon();
  expect(asked).toHaveLength(1);
  expect(asked[0]!.content).toEqual({
    clauses: [
      { view: 0, marks: bitsOf(flags(3)) },
      { view: 1, marks: bitsOf(flags(4)) }
    ]
  });
  asked.shift()!.answer();
  await soon();
  expect(asked).toEqual([]);
});

test('what the kernel says of a chart that a hand is brushing comes too late', async () => {
  const { linked: found } = await linked();
  found.brush(0, flags(1));
  found.brush(0, flags(4));
  found.hear(changed(message('event-brushed'))!);
  expect([...found.standing.charts![0]!.brushed!]).toEqual([0, 0, 0, 0, 1]);
  expect(found.standing.charts![1]!.now.y).toBeDefined();
});

test('no mark is no brush, and all are cleared at once', async () => {
  const { linked: found, asked } = await linked();
  found.brush(0, flags());
  expect(asked).toEqual([]);
  found.brush(0, flags(1));
  found.brush(1, flags(2));
  found.clear();
  expect(found.standing.charts!.every(each => each.brushed === null)).toBe(true);
  asked.shift()!.answer();
  await soon();
  expect(asked[0]!.content).toEqual({
    clauses: [
      { view: 0, marks: null },
      { view: 1, marks: null }
    ].sort((one, other) => other.view - one.view)
  });
});

test('a kernel that is gone is said, and asked again by the next brush', async () => {
  const { linked: found, asked } = await linked();
  found.brush(0, flags(1));
  asked.shift()!.refuse();
  await soon();
  expect(found.standing.wrong?.what).toContain('gone');
  found.brush(0, flags(2));
  asked.shift()!.answer();
  await soon();
  expect(found.standing.wrong).toBeNull();
});

test('what was not heard is asked for', async () => {
  const { linked: found, asked } = await linked();
  found.hear({ ...changed(message('event-brushed'))!, change: 3 });
  expect(asked.map(each => each.name)).toEqual(['open']);
});

test('what was told before the first answer came is asked for again', async () => {
  const { asked, ask } = kernel();
  const found = new Linked(ask, () => undefined);
  void found.open();
  found.hear(changed(message('event-brushed'))!);
  asked.shift()!.answer();
  await soon();
  expect(asked.map(each => each.name)).toEqual(['open']);
});

test('one message is under way, and the latest of each key goes next', async () => {
  const sent: [string, number][][] = [];
  let done: () => void = () => undefined;
  const latest = new Latest<string, number>(values => {
    sent.push([...values]);
    return new Promise(resolve => {
      done = resolve as () => void;
    });
  });
  latest.put('a', 1);
  latest.put('a', 2);
  latest.put('b', 3);
  latest.put('a', 4);
  expect([sent, latest.pending('a'), latest.pending('b'), latest.pending('c')]).toEqual([
    [[['a', 1]]],
    true,
    true,
    false
  ]);
  done();
  await soon();
  expect(sent[1]).toEqual([
    ['a', 4],
    ['b', 3]
  ]);
  done();
  await soon();
  expect([sent.length, latest.pending('a')]).toEqual([2, false]);
});
