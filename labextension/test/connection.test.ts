import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { Connection } from '../src/connection';
import { CONTROL, EVENTS, Refused } from '../src/payload';
import { golden } from './golden';
import { HandKernel } from './kernel';

let kernel: HandKernel;
let connection: Connection;

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve));

beforeEach(async () => {
  kernel = new HandKernel();
  connection = new Connection(kernel.connection);
  await settled();
});

afterEach(() => {
  connection.dispose();
});

function says(name: string): void {
  kernel.says(kernel.comm(EVENTS), golden(name));
}

function closes(): void {
  [EVENTS, CONTROL]
    .map(target => kernel.comm(target))
    .forEach(comm => {
      kernel.closes(comm);
    });
}

function runs(): string[] {
  return connection.phase.is === 'open' ? [...connection.phase.heard.runs.keys()] : [connection.phase.is];
}

test('what the kernel tells adds up', () => {
  expect(runs()).toEqual(['asking']);
  says('event-changes');
  expect(runs()).toEqual(['r1', 'r2', 'r3', 'r4']);
});

test('both comms are opened on a subshell of their own, and closed and given back at the end', async () => {
  const opened = kernel.sent.filter(each => each.type === 'comm_open');
  expect(opened.map(each => each.subshell)).toEqual(['subshell 1', 'subshell 1']);
  const [control, events] = opened.map(each => each.content.data);
  expect(events).toEqual({ version: 1, panel: control?.['panel'] });
  connection.dispose();
  await settled();
  const closed = kernel.sent.filter(each => each.type === 'comm_close').map(each => each.content.comm_id);
  expect(new Set(closed)).toEqual(new Set(opened.map(each => each.content.comm_id)));
  expect(kernel.subshells.size).toBe(0);
});

test('a page that goes says so over another connection, too', () => {
  const other = new HandKernel();
  const control = kernel.comm(CONTROL);
  connection.depart(other.connection);
  expect(other.sent.map(each => [each.type, each.content.comm_id])).toEqual([['comm_close', control]]);
  expect(kernel.sent.filter(each => each.type === 'comm_close')).toHaveLength(2);
});

test('a kernel without subshells is spoken to all the same', async () => {
  const old = new HandKernel(false);
  const other = new Connection(old.connection);
  await settled();
  expect(old.sent.map(each => each.type)).toEqual(['comm_open', 'comm_open']);
  other.dispose();
});

describe('a request', () => {
  it('gets its own answer, in whatever order they come', async () => {
    says('event-changes');
    const asked = [connection.ask('changes', { after: 1 }), connection.ask('run', { run: 'r3' })] as const;
    kernel.says(kernel.comm(CONTROL), golden('answer-run'));
    kernel.says(kernel.comm(CONTROL), golden('answer-changes'));
    expect((await asked[1]).run).toBe('r3');
    expect((await asked[0]).forgotten).toEqual(['r2']);
  });

  it('is refused with what the kernel says', async () => {
    says('event-changes');
    const asked = connection.ask('run', { run: 'r2' });
    kernel.says(kernel.comm(CONTROL), { ...(golden('answer-refused') as object), id: 1 });
    await expect(asked).rejects.toThrow('This run has been forgotten');
  });

  it('does not wait for a kernel that has gone', async () => {
    says('event-changes');
    const asked = connection.ask('run', { run: 'r3' });
    kernel.becomes('restarting');
    await expect(asked).rejects.toThrow('The kernel has gone');
    await expect(connection.ask('run', { run: 'r3' })).rejects.toBeInstanceOf(Refused);
  });
});

test('what was missed is asked for', async () => {
  says('event-changes');
  const [later] = [{ ...(golden('answer-changes') as { content: object }) }];
  kernel.says(kernel.comm(EVENTS), { version: 1, event: 'changes', content: { ...later.content, after: 5, upto: 6 } });
  const [asked] = kernel.on(kernel.comm(CONTROL));
  expect(asked).toMatchObject({ request: 'changes', content: { after: 0 } });
  const all = (golden('event-changes') as { content: object }).content;
  kernel.says(kernel.comm(CONTROL), { version: 1, id: 1, answer: 'changes', content: { ...all, upto: 6, runs: [] } });
  await settled();
  expect(runs()).toEqual([]);
});

test('bigdebug is found that was loaded while the kernel was asked for it the first time', async () => {
  const end = kernel.begins('%load_ext bigdebug');
  closes();
  expect(runs()).toEqual(['absent']);
  end();
  await settled();
  says('event-changes');
  expect(runs()).toEqual(['r1', 'r2', 'r3', 'r4']);
});

describe('a kernel without bigdebug', () => {
  beforeEach(closes);

  it('is told of', () => {
    expect(runs()).toEqual(['absent']);
  });

  it('is left alone by cells that have nothing to do with it', async () => {
    kernel.runs('1 + 1');
    await settled();
    expect(kernel.sent.filter(each => each.type === 'comm_open')).toHaveLength(2);
  });

  it('is looked at again when the cell has ended that may have loaded it, however often the kernel rests before', async () => {
    const end = kernel.begins('%load_ext bigdebug');
    kernel.becomes('idle'); // after a message of ours, on a subshell
    await settled();
    closes();
    expect(runs()).toEqual(['absent']);
    end();
    await settled();
    says('event-changes');
    expect(runs()).toEqual(['r1', 'r2', 'r3', 'r4']);
  });

  it('is looked at again when a cell may have loaded it', async () => {
    kernel.runs('%load_ext bigdebug');
    await settled();
    says('event-changes');
    expect(runs()).toEqual(['r1', 'r2', 'r3', 'r4']);
  });
});

describe('a kernel that is started again', () => {
  it('begins with nothing, and is asked when it has nothing to do', async () => {
    says('event-changes');
    kernel.becomes('restarting');
    expect(runs()).toEqual(['asking']);
    kernel.becomes('starting');
    kernel.becomes('idle');
    await settled();
    kernel.says(kernel.comm(EVENTS), {
      version: 1,
      event: 'changes',
      content: { ...(golden('event-changes') as { content: object }).content, runs: [] }
    });
    expect(runs()).toEqual([]);
  });

  it('hears nothing of what the one before said last', async () => {
    const before = kernel.comm(EVENTS);
    kernel.becomes('autorestarting');
    kernel.becomes('idle');
    await settled();
    kernel.says(before, golden('event-changes'));
    expect(runs()).toEqual(['asking']);
  });

  it('by another window, too', async () => {
    says('event-changes');
    kernel.restartsElsewhere();
    expect(runs()).toEqual(['asking']);
    kernel.becomes('idle');
    await settled();
    expect(kernel.sent.filter(each => each.type === 'comm_open')).toHaveLength(4);
  });

  it('while it was still asked, is asked once', async () => {
    const again = connection.connect();
    kernel.becomes('restarting');
    await again;
    kernel.becomes('idle');
    await settled();
    expect(kernel.sent.filter(each => each.type === 'comm_open')).toHaveLength(4);
    expect(kernel.subshells.size).toBe(1);
  });
});

test('a dead kernel is told of, and not spoken to', async () => {
  says('event-changes');
  kernel.becomes('dead');
  expect(runs()).toEqual(['dead']);
  const sent = kernel.sent.length;
  connection.dispose();
  await settled();
  expect(kernel.sent).toHaveLength(sent);
});

test('a kernel with another bigdebug says so, and is looked at again when it is asked to', async () => {
  says('refused-version');
  expect(connection.phase).toMatchObject({
    is: 'refused',
    why: { what: expect.stringContaining('speaks version 2') as string }
  });
  await connection.connect();
  says('event-changes');
  expect(runs()).toEqual(['r1', 'r2', 'r3', 'r4']);
});
