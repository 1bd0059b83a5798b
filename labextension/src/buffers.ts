/** Arrays travel beside a message as they are in memory; `bigdebug/views/buffers.py` is the other half. */

/** The one key of what stands in a buffer's place. */
const PLACE = '$buffer';

/** The message with a place for each array in it, and the arrays' buffers. */
export function takenOut(message: unknown): [unknown, ArrayBuffer[]] {
  const buffers: ArrayBuffer[] = [];
  const out = (value: unknown): unknown => {
    if (ArrayBuffer.isView(value)) {
      buffers.push(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength) as ArrayBuffer);
      return { [PLACE]: buffers.length - 1 };
    }
    if (Array.isArray(value)) {
      return value.map(out);
    }
    return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, out(each)])) : value;
  };
  return [out(message), buffers];
}

/** The message with its buffers in their places. What has no place stays as it was: whoever reads it says what is wrong. */
export function putIn(message: unknown, buffers: readonly DataView[]): unknown {
  if (buffers.length === 0) {
    return message;
  }
  if (Array.isArray(message)) {
    return message.map(each => putIn(each, buffers));
  }
  if (!isObject(message)) {
    return message;
  }
  const place = message[PLACE];
  if (typeof place === 'number' && Object.keys(message).length === 1) {
    return buffers[place] ?? message;
  }
  return Object.fromEntries(Object.entries(message).map(([key, each]) => [key, putIn(each, buffers)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Numbers of a kind that came in a buffer, wherever in memory it begins. */
export function numbers<Numbers>(
  view: DataView,
  kind: { new (buffer: ArrayBuffer): Numbers; readonly BYTES_PER_ELEMENT: number }
): Numbers {
  return new kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer);
}
