import { h } from 'preact';
import { afterEach, expect, it } from 'vitest';
import { Value } from '../src/view/value';
import { Host } from './host';

const host = new Host();

afterEach(() => {
  host.close();
});

it.each([
  ["('oslo', -7.0)", []],
  ["('שלום', -7.0)", ['שלום']],
  ["('שלום עולם', 1, 'مرحبا', 2)", ['שלום עולם', 'مرحبا']],
  ['', []]
])('in %s each word that is written from right to left stands by itself', async (text, words) => {
  await host.show(h(Value, { text }));
  expect(host.texts('bdi bdi')).toEqual(words);
  expect(host.el.textContent).toBe(text);
});
