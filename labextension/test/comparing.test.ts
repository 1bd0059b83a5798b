import { expect, it, test } from 'vitest';
import { ANSWERS, type Requests } from '../src/comparing';
import { readAs, writeRequest } from '../src/payload';
import { parted } from '../src/view/parted';
import { goldenIn, names } from './golden';

interface Golden {
  content: unknown;
}

const message = (name: string): Golden => goldenIn('comparison', name) as Golden;

test('the widget writes the requests that the kernel reads', () => {
  expect(writeRequest(1, 'comparison', {})).toEqual(message('request-comparison'));
  expect(writeRequest(2, 'page', { kind: 'all', start: 0 })).toEqual(message('request-page'));
  expect(writeRequest(3, 'page', { kind: 'added', start: 0 })).toEqual(message('request-added'));
});

const READ: Record<string, keyof Requests> = {
  'answer-comparison': 'comparison',
  'answer-page': 'page',
  'answer-added': 'page'
};

it.each(Object.entries(READ))('the widget reads all of %s, and loses nothing of it', (file, name) => {
  expect(readAs(name, ANSWERS[name], message(file))).toEqual(message(file).content);
});

test('there is no golden file that is not read here', () => {
  const requests = ['comparison', 'page', 'added', 'unknown'].map(name => `request-${name}`);
  expect(new Set(names('comparison'))).toEqual(new Set([...requests, ...Object.keys(READ), 'answer-refused']));
});

it.each([
  ["'kitten'", "'kittens'", ["'kitten", '', 's', "'"]],
  ["'a b c'", "'a x c'", ["'a ", 'b', 'x', " c'"]],
  ["'aa'", "'aaa'", ["'aa", '', 'a', "'"]],
  ['-41.5', '-42.5', ['', '-41.5', '-42.5', '']],
  ["'😀x'", "'😁x'", ["'", '😀', '😁', "x'"]],
  ["'nothing in common'", "'xyz'", ['', "'nothing in common'", "'xyz'", '']],
  ['None', "'x'", ['', 'None', "'x'", '']],
  ["'same'", "'same'", ["'same'", '', '', '']]
])('of %s and %s it is marked what is different', (old, now, expected) => {
  const { begin, old: was, now: is, end } = parted(old, now);
  expect([begin, was, is, end]).toEqual(expected);
  expect([begin + was + end, begin + is + end]).toEqual([old, now]);
});
