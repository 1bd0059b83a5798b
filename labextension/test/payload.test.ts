import { describe, expect, it, test } from 'vitest';
import { answered, readAnswer, readEvent, refusal, Refused, writeRequest } from '../src/payload';
import { golden, NAMES } from './golden';

type Golden = Record<string, unknown> & { content: Record<string, unknown> };

function message(name: string): Golden {
  return golden(name) as Golden;
}

function refused(read: () => unknown): Refused {
  try {
    read();
  } catch (problem) {
    return refusal(problem);
  }
  throw new Error('it was read');
}

test('the panel writes the requests that the kernel reads', () => {
  expect(writeRequest(1, 'changes', { after: 1 })).toEqual(golden('request-changes'));
  expect(writeRequest(2, 'run', { run: 'r3' })).toEqual(golden('request-run'));
});

test('the panel reads all that the kernel writes, and loses nothing of it', () => {
  expect(readEvent(golden('event-changes'))).toEqual(message('event-changes').content);
  expect(readAnswer('changes', golden('answer-changes'))).toEqual(message('answer-changes').content);
  expect(readAnswer('run', golden('answer-run'))).toEqual(message('answer-run').content);
  expect([1, 2].map(id => NAMES.map(golden).filter(each => answered(each) === id).length)).toEqual([2, 2]);
});

test('there is no golden file that is not read here', () => {
  const read = [
    'event-changes',
    'answer-changes',
    'answer-run',
    'answer-refused',
    'refused-request',
    'refused-version'
  ];
  const written = ['request-changes', 'request-run', 'request-unknown', 'request-later'];
  expect(new Set(NAMES)).toEqual(new Set([...read, ...written]));
});

describe('a refusal', () => {
  it.each(['answer-refused', 'refused-request', 'refused-version'])('%s says what is wrong and what to do', name => {
    const why = refused(() => readAnswer('run', golden(name)));
    expect({ what: why.what, remedy: why.remedy }).toEqual(message(name).content);
    expect(refused(() => readEvent(golden(name))).what).toEqual(why.what);
  });

  it('is read from any version', () => {
    const later = { ...message('answer-refused'), version: 7, more: true };
    expect(refused(() => readAnswer('run', later)).what).toContain('forgotten');
  });
});

test('a message of another version is refused with both versions', () => {
  const why = refused(() => readEvent({ ...message('event-changes'), version: 2 }));
  expect(why.what).toBe("This kernel's bigdebug speaks version 2 of their messages, JupyterLab's version 1.");
  expect(why.remedy).toContain('Install the same bigdebug');
});

describe('what is no message of the contract is refused, and says where', () => {
  it.each([
    [null, 'version unknown'],
    ['text', 'version unknown'],
    [{ version: 1, event: 'other', content: {} }, 'event'],
    [{ version: 1, event: 'changes', content: { after: 0 } }, 'content.upto'],
    [{ version: 1, event: 'changes', content: { ...message('event-changes').content, upto: -1 } }, 'content.upto']
  ])('%j', (data, where) => {
    expect(refused(() => readEvent(data)).what).toContain(where);
  });

  it('is no answer to another question', () => {
    expect(refused(() => readAnswer('changes', golden('answer-run'))).what).toContain('answer');
  });
});

test('a field that a later kernel adds does not matter', () => {
  const later = { ...message('answer-changes'), more: 1 };
  expect(readAnswer('changes', later)).toEqual(message('answer-changes').content);
});
