import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { Asking } from '../src/asking';
import { ABSENT, Line, NO_KERNEL, RESTARTED } from '../src/line';
import { VIEW } from '../src/payload';
import * as v from 'valibot';
import { goldenIn } from './golden';
import { HandKernel } from './kernel';

const WANTED = { run: 'r3', began: 1_790_000_000.25, kind: 'trace' };

let kernel: HandKernel;
let there: boolean;
let line: Line;

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve));

beforeEach(async () => {
  kernel = new HandKernel();
  there = true;
  line = new Line(() => Promise.resolve(there ? kernel.connection : null), WANTED);
  await settled();
});

afterEach(() => {
  line.dispose();
});

function opens(): void {
  kernel.says(kernel.comm(VIEW), goldenIn('showing', 'answer-view'));
}

function why(): string {
  return line.phase.is === 'wrong' ? line.phase.why.what : line.phase.is;
}

test('a view is asked for as the kernel reads it, on a subshell of its own, which is given back with the connection', async () => {
  const [opened] = kernel.sent;
  expect(opened?.content.data).toEqual(goldenIn('showing', 'request-view'));
  expect(opened?.subshell).toBe('subshell 1');
  opens();
  expect(line.phase).toMatchObject({ is: 'open', kind: 'trace' });
  line.dispose();
  await settled();
  expect(kernel.sent.at(-1)?.type).toBe('comm_close');
  expect([kernel.subshells.size, kernel.isDisposed]).toEqual([0, true]);
});

test('what a view that is at work says before its answer does not end the line', () => {
  kernel.says(kernel.comm(VIEW), goldenIn('culprits', 'event-culprits'));
  expect(line.phase.is).toBe('asking');
  opens();
  expect(line.phase.is).toBe('open');
});

test('messages and their buffers go both ways', async () => {
  opens();
  const model = line.phase.is === 'open' ? line.phase.model : null;
  const asking = new Asking<{ twice: { numbers: Int32Array } }, { twice: v.GenericSchema }>(model!, { twice: v.any() });
  const asked = asking.ask('twice', { numbers: new Int32Array([1, 2]) });
  const sent = kernel.sent.at(-1)!;
  expect([...new Int32Array(sent.buffers[0]!)]).toEqual([1, 2]);
  const answer = { version: 1, id: sent.content.data['id'], answer: 'twice', content: { numbers: { $buffer: 0 } } };
  kernel.says(kernel.comm(VIEW), answer, [new DataView(new Int32Array([2, 4]).buffer)]);
  const { numbers } = (await asked) as { numbers: DataView };
  expect(numbers.getInt32(4, true)).toBe(4);
});

describe('what is wrong is said', () => {
  it('of a kernel that was started again, here or elsewhere', async () => {
    opens();
    kernel.restartsElsewhere();
    expect(why()).toBe(RESTARTED.what);
    await settled();
    expect(kernel.isDisposed).toBe(true);
  });

  it('of a kernel that is not there, and it is looked for again', async () => {
    there = false;
    await line.connect();
    expect(why()).toBe(NO_KERNEL.what);
    kernel = new HandKernel();
    there = true;
    await line.connect();
    opens();
    expect(why()).toBe('open');
  });

  it('of a kernel that goes', () => {
    opens();
    kernel.dispose();
    expect(why()).toBe(NO_KERNEL.what);
  });

  it('of a kernel without bigdebug', () => {
    kernel.closes(kernel.comm(VIEW));
    expect(why()).toBe(ABSENT.what);
  });

  it('of a run that is forgotten, or what the kernel says else', () => {
    kernel.says(kernel.comm(VIEW), { ...(goldenIn('payload', 'answer-refused') as object), id: 0 });
    expect(why()).toContain('This run has been forgotten');
  });
});

test('what is asked of a view that has gone is refused', async () => {
  opens();
  const model = line.phase.is === 'open' ? line.phase.model : null;
  kernel.becomes('restarting');
  const asking = new Asking<{ twice: object }, { twice: v.GenericSchema }>(model!, { twice: v.any() });
  await expect(asking.ask('twice', {})).rejects.toThrow('The kernel of this view is gone.');
});
