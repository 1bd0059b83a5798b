import { h, render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readEvent, Refused } from '../src/payload';
import { WatchView } from '../src/view/watchview';
import type { WatchLine } from '../src/watching';
import { golden } from './golden';

const [line] = readEvent(golden('event-changes')).watches!;
const ask = vi.fn<(name: string) => Promise<WatchLine>>();

let host: HTMLElement;

beforeEach(() => {
  vi.useFakeTimers();
  ask.mockReset().mockResolvedValue(line!);
  host = document.body.appendChild(document.createElement('div'));
});

afterEach(() => {
  render(null, host);
  vi.useRealTimers();
  host.remove();
});

async function show(): Promise<void> {
  await act(async () => {
    render(h(WatchView, { ask } as never), host);
    await vi.advanceTimersByTimeAsync(0);
  });
}

async function pass(milliseconds: number): Promise<void> {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(milliseconds);
  });
}

test('a watch is looked at while it is on, and no more when it is stopped', async () => {
  await show();
  expect(host.querySelector('.bd-summary')?.textContent).toBe('Watch on map#2 at report.py:7');
  ask.mockResolvedValue({ ...line!, matched: 20_000 });
  await pass(500);
  expect(host.querySelector('.bd-facts')?.textContent).toContain('20,000 matched');
  ask.mockResolvedValue({ ...line!, on: false });
  host.querySelector('button')!.click();
  await pass(500);
  expect(ask).toHaveBeenCalledWith('stop', {});
  expect(host.querySelector('header')?.textContent).toContain('stopped');
  const asked = ask.mock.calls.length;
  await pass(5000);
  expect(ask.mock.calls.length).toBe(asked);
});

test('a kernel that has gone is told of, and looked at again', async () => {
  await show();
  ask.mockRejectedValue(new Refused('The kernel of this view is gone.', 'Run the cell that shows it again.'));
  await pass(500);
  expect(host.querySelector('[role=alert]')?.textContent).toContain('The kernel of this view is gone.');
  ask.mockResolvedValue(line!);
  host.querySelector('button')!.click();
  await pass(0);
  expect(host.querySelector('.bd-summary')).not.toBeNull();
});
