import { expect, it, test } from 'vitest';
import { ANSWERS, stands, type Requests } from '../src/diagnosing';
import { readAs, writeRequest } from '../src/payload';
import { logarithmic, powers, short, ticks } from '../src/view/axis';
import { lines } from '../src/view/coursechart';
import { goldenIn, names } from './golden';

interface Golden {
  content: unknown;
}

const message = (name: string): Golden => goldenIn('diagnosis', name) as Golden;

test('the widget writes the requests that the kernel reads', () => {
  expect(writeRequest(1, 'diagnosis', {})).toEqual(message('request-diagnosis'));
  expect(writeRequest(2, 'stop', {})).toEqual(message('request-stop'));
  expect(writeRequest(3, 'records', { fault: 0, start: 1 })).toEqual(message('request-records'));
  expect(writeRequest(4, 'records', { fault: 2, start: 0 })).toEqual(message('request-gone'));
});

const READ: Record<string, keyof Requests> = {
  'answer-waiting': 'diagnosis',
  'answer-diagnosis': 'diagnosis',
  'answer-failed': 'diagnosis',
  'answer-stop': 'stop',
  'answer-records': 'records'
};

it.each(Object.entries(READ))('the widget reads all of %s, and loses nothing of it', (file, name) => {
  expect(readAs(name, ANSWERS[name], message(file))).toEqual(message(file).content);
});

test('there is no golden file that is not read here', () => {
  const requests = ['diagnosis', 'stop', 'records', 'gone'].map(name => `request-${name}`);
  expect(new Set(names('diagnosis'))).toEqual(
    new Set([...requests, ...Object.keys(READ), 'answer-refused', 'event-search'])
  );
});

test('what a search says by itself is heard, and so is that somebody stopped it', () => {
  expect(stands(message('event-search'))).toEqual(message('event-search').content);
  expect(stands(message('answer-stop'))?.stopping).toBe(true);
  expect(['answer-diagnosis', 'answer-records', 'answer-refused'].map(name => stands(message(name)))).toEqual([
    null,
    null,
    null
  ]);
});

// ---- the chart -----------------------------------------------------------------------------------------------------

it.each([
  [0, [0]],
  [0.3, [0, 0.1, 0.2, 0.3]],
  [4, [0, 1, 2, 3, 4]],
  [12, [0, 5, 10]],
  [3_600, [0, 1_000, 2_000, 3_000]]
])('a linear axis to %s is marked at few round numbers', (most, expected) => {
  expect(ticks(most)).toEqual(expected);
});

it.each([
  [0, [1, 10]],
  [1, [1, 10]],
  [4_096, [1, 10, 100, 1_000, 10_000]],
  [1e6, [1, 100, 1e4, 1e6]]
])('a logarithmic axis to %s is marked at powers of ten', (most, expected) => {
  expect(powers(most)).toEqual(expected);
});

test('on a logarithmic axis nothing stands outside', () => {
  expect([0, 1, 10, 100, 1_000].map(value => logarithmic(value, 100))).toEqual([0, 0, 0.5, 1, 1]);
  expect(logarithmic(1, 1)).toBe(0);
  expect([1, 999, 1_000, 2_500_000].map(short)).toEqual(['1', '999', '1k', '2.5M']);
});

test('the line of an output goes on until the next one begins, and the last until now', () => {
  expect(
    lines(
      [
        [0, 100, 1],
        [1, 10, 1],
        [2, 50, 2]
      ],
      3
    )
  ).toEqual([
    [
      [0, 100],
      [1, 10],
      [2, 10]
    ],
    [
      [2, 50],
      [3, 50]
    ]
  ]);
  expect(lines([], 3)).toEqual([]);
});
