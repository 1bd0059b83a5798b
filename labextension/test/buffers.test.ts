import { expect, test } from 'vitest';
import { numbers, putIn, takenOut } from '../src/buffers';

const there = (buffers: ArrayBuffer[]): DataView[] => buffers.map(each => new DataView(each));

test('arrays go beside a message, each in its own place, and come back', () => {
  const long = new Int32Array([9, 1, 2, 3]);
  const [message, buffers] = takenOut({
    of: [long.subarray(1), 'text'],
    more: { flags: new Uint8Array(0) },
    none: null
  });
  expect(message).toEqual({ of: [{ $buffer: 0 }, 'text'], more: { flags: { $buffer: 1 } }, none: null });
  const back = putIn(message, there(buffers)) as { of: [DataView, string]; more: { flags: DataView } };
  expect([...numbers(back.of[0], Int32Array)]).toEqual([1, 2, 3]);
  expect(back.more.flags.byteLength).toBe(0);
});

test('numbers are read wherever in memory they begin', () => {
  const odd = new Uint8Array([7, 1, 0, 0, 0]).buffer;
  expect([...numbers(new DataView(odd, 1), Int32Array)]).toEqual([1]);
});

test('a place without a buffer stays what it was', () => {
  expect(putIn({ a: { $buffer: 3 }, b: { $buffer: 0, c: 1 } }, [new DataView(new ArrayBuffer(1))])).toEqual({
    a: { $buffer: 3 },
    b: { $buffer: 0, c: 1 }
  });
});
