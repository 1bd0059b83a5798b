/** Up and down, among things of one kind that stand below each other. */

/** What an arrow key leads to from where the focus is; undefined where there is nothing, or for another key. */
export function neighbour<Kind extends HTMLElement>(
  event: KeyboardEvent,
  kind: new () => Kind,
  selector: string
): Kind | undefined {
  const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (by === 0 || !(event.currentTarget instanceof HTMLElement) || !(event.target instanceof kind)) {
    return undefined;
  }
  const every = [...event.currentTarget.querySelectorAll<Kind>(selector)];
  return every[every.indexOf(event.target) + by];
}
