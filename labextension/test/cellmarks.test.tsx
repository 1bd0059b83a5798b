import { h, render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readEvent } from '../src/payload';
import { CellMarks } from '../src/view/cellmarks';
import { golden } from './golden';

const runs = readEvent(golden('event-changes')).runs.slice(0, 3);

let host: HTMLElement;

beforeEach(() => {
  host = document.body.appendChild(document.createElement('div'));
});

afterEach(() => {
  render(null, host);
  host.remove();
});

test('each run of a cell is a way to it, with how it ended and its name as text', async () => {
  const show = vi.fn();
  await act(() => {
    render(h(CellMarks, { runs, edited: false, show }), host);
  });
  const buttons = [...host.querySelectorAll('button')];
  expect(buttons.map(each => each.textContent)).toEqual(['✓errors', '✓gone', `✗${runs[2]!.name}4 culprits`]);
  expect(host.querySelectorAll('script, img')).toHaveLength(0);
  buttons[1]!.click();
  expect(show).toHaveBeenCalledWith(runs[1]);
});

test('of many runs the latest are marked, and those of a cell that was edited look so', async () => {
  const many = Array.from({ length: 1000 }, (_, at) => ({ ...runs[0]!, id: `r${at}`, name: `run ${at}` }));
  await act(() => {
    render(h(CellMarks, { runs: many, edited: true, show: vi.fn() }), host);
  });
  expect(host.querySelectorAll('.bd-edited')).toHaveLength(5);
  expect(host.textContent).toMatch(/^995 runs before✓run 995.*run 999$/);
});
