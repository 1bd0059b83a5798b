/** Golden messages of the brush view, with their buffers in their places. */
import { ANSWERS, type Opened } from '../src/brushing';
import { putIn } from '../src/buffers';
import { readAs } from '../src/payload';
import { goldenIn } from './golden';

export interface Golden {
  readonly message: { readonly id: number; readonly content: unknown };
  readonly buffers: readonly string[];
}

export const held = (name: string): Golden => goldenIn('brush', name) as Golden;

/** A message as the browser has it. */
export function message(name: string): { content: unknown } {
  const { message, buffers } = held(name);
  return putIn(
    message,
    buffers.map(each => new DataView(new Uint8Array(Buffer.from(each, 'base64')).buffer))
  ) as { content: unknown };
}

export const opened = (): Opened => readAs('open', ANSWERS.open, message('answer-open')) as Opened;
