/** What a hand does with a chart: it points, clicks, drags, and presses keys. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Box, Direction, Drawn, Picture } from '../charts/picture';

export interface Pointed {
  readonly mark: number;
  readonly by: 'hand' | 'keys';
}

/** A press, until it is over. */
interface Drag {
  readonly x: number;
  readonly y: number;
  /** What was brushed before, if the drag adds to that. */
  readonly before: Uint8Array | null;
  far: boolean;
}

/** Pixels that a hand moves in a click without meaning it. */
const STILL = 4;

const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down'
};

export function useBrushing(drawn: Drawn, picture: Picture | null, brush: (flags: Uint8Array | null) => void) {
  const [lasso, setLasso] = useState<Box | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const drag = useRef<Drag | null>(null);
  const { marks } = drawn.chart;

  // What is pointed at may be gone when marks have moved.
  useEffect(() => {
    setPointed(before => (before !== null && before.mark >= marks ? null : before));
  }, [marks]);

  const only = (mark: number): Uint8Array => {
    const flags = new Uint8Array(marks);
    flags[mark] = 1;
    return flags;
  };
  const toggled = (mark: number): Uint8Array => {
    const flags = drawn.brushed === null ? new Uint8Array(marks) : drawn.brushed.slice();
    flags[mark] = flags[mark] === 1 ? 0 : 1;
    return flags;
  };
  const click = (mark: number, more: boolean): void => {
    if (mark < 0) {
      brush(more ? drawn.brushed : null);
    } else if (more) {
      brush(toggled(mark));
    } else {
      const alone = drawn.brushed?.[mark] === 1 && drawn.brushed.indexOf(1) === drawn.brushed.lastIndexOf(1);
      brush(alone ? null : only(mark));
    }
  };
  const pull = (event: PointerEvent, start: Drag): void => {
    if (picture === null) {
      return;
    }
    const box = picture.span(between(start, placeOf(event), picture.area));
    const flags = picture.within(box);
    start.before?.forEach((flag, mark) => {
      flags[mark] = (flags[mark] ?? 0) | flag;
    });
    setLasso(box);
    if (!same(flags, drawn.brushed)) {
      brush(flags);
    }
  };

  const events = {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0 || picture === null) {
        return;
      }
      const more = event.shiftKey || event.ctrlKey || event.metaKey;
      drag.current = { ...placeOf(event), before: more ? drawn.brushed : null, far: false };
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent): void => {
      const { x, y } = placeOf(event);
      const start = drag.current;
      if (start === null) {
        const mark = picture?.hit(x, y) ?? -1;
        setPointed(mark < 0 ? null : { mark, by: 'hand' });
        return;
      }
      start.far ||= Math.hypot(x - start.x, y - start.y) > STILL;
      if (start.far) {
        pull(event, start);
      }
    },
    onPointerUp: (event: PointerEvent): void => {
      const start = drag.current;
      drag.current = null;
      setLasso(null);
      if (start !== null && !start.far && picture !== null) {
        click(picture.hit(start.x, start.y), event.shiftKey || event.ctrlKey || event.metaKey);
      }
    },
    onPointerCancel: (): void => {
      drag.current = null;
      setLasso(null);
    },
    onPointerLeave: (): void => {
      setPointed(before => (before?.by === 'hand' ? null : before));
    },
    onBlur: (): void => {
      setPointed(null);
    },
    onKeyDown: (event: KeyboardEvent): void => {
      const direction = ARROWS[event.key];
      if (direction !== undefined && picture !== null && !event.altKey && !event.ctrlKey && !event.metaKey) {
        const mark = picture.next(pointed?.mark ?? -1, direction);
        setPointed(mark < 0 ? null : { mark, by: 'keys' });
        if (event.shiftKey && mark >= 0 && drawn.brushed?.[mark] !== 1) {
          brush(toggled(mark));
        }
      } else if (event.key === ' ' && pointed !== null) {
        brush(toggled(pointed.mark));
        setPointed({ ...pointed, by: 'keys' });
      } else if (event.key === 'Enter' && pointed !== null) {
        click(pointed.mark, false);
        setPointed({ ...pointed, by: 'keys' });
      } else if (event.key === 'Escape') {
        brush(null);
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    }
  };
  return { lasso, pointed, events };
}

/** Where an event is in the element that it came to. */
function placeOf(event: PointerEvent): { x: number; y: number } {
  const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
}

/** The box between two places, as far as it is in an area. */
export function between(one: { x: number; y: number }, other: { x: number; y: number }, area: Box): Box {
  const within = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));
  return {
    left: within(Math.min(one.x, other.x), area.left, area.right),
    right: within(Math.max(one.x, other.x), area.left, area.right),
    top: within(Math.min(one.y, other.y), area.top, area.bottom),
    bottom: within(Math.max(one.y, other.y), area.top, area.bottom)
  };
}

function same(flags: Uint8Array, brushed: Uint8Array | null): boolean {
  return brushed === null ? !flags.includes(1) : flags.every((flag, mark) => flag === brushed[mark]);
}
