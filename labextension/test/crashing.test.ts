import { expect, it, test } from 'vitest';
import { ANSWERS, told, type Requests } from '../src/crashing';
import { readAs, writeRequest } from '../src/payload';
import { goldenIn, names } from './golden';

interface Golden {
  id: number;
  content: Record<string, unknown>;
}

const message = (name: string): Golden => goldenIn('culprits', name) as Golden;

test('the widget writes the requests that the kernel reads', () => {
  const edits = [
    { field: 1, text: '17' },
    { field: 2, text: null }
  ];
  const written: [string, keyof Requests, Requests[keyof Requests]][] = [
    ['culprits', 'culprits', {}],
    ['page', 'page', { cause: 0, start: 0 }],
    ['culprit', 'culprit', { number: 0 }],
    ['sources', 'sources', { number: 0 }],
    ['skip', 'skip', { of: 'cause', at: 0, on: true }],
    ['repair', 'repair', { number: 0, edits }],
    ['unread', 'repair', { number: 0, edits: [{ field: 0, text: '__import__("os")' }] }],
    ['resume', 'resume', {}],
    ['result', 'result', { start: 0 }],
    ['common', 'common', {}],
    ['fix', 'fix', { number: 0, on: true }]
  ];
  written.forEach(([file, name, content], at) => {
    expect(writeRequest(at + 1, name, content)).toEqual(message(`request-${file}`));
  });
  const requests = names('culprits').filter(name => name.startsWith('request-'));
  expect(new Set(requests)).toEqual(new Set(written.map(([file]) => `request-${file}`)));
});

const READ: [string, keyof Requests][] = [
  ['culprits', 'culprits'],
  ['page', 'page'],
  ['culprit', 'culprit'],
  ['repaired', 'culprit'],
  ['sources', 'sources'],
  ['common', 'common'],
  ['skip', 'skip'],
  ['repair', 'repair'],
  ['fix', 'fix'],
  ['fixed', 'culprit'],
  ['result', 'result']
];

it.each(READ)('the widget reads all of answer-%s, and loses nothing of it', (file, name) => {
  expect(readAs(name, ANSWERS[name], message(`answer-${file}`))).toEqual(message(`answer-${file}`).content);
});

test('there is no golden file that is not read here', () => {
  const answers = names('culprits').filter(name => !name.startsWith('request-'));
  expect(new Set(answers)).toEqual(
    new Set([...READ.map(([file]) => `answer-${file}`), 'answer-refused', 'event-culprits'])
  );
});

test('the view is told how it stands, and of nothing else', () => {
  expect(told(message('event-culprits'))).toEqual(message('event-culprits').content);
  expect(told(message('answer-culprits'))).toBeNull();
});
