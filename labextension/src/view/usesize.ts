/** How large an element is, in pixels of styles, and how many pixels of the screen one of those is. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Size {
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
}

export function useSize(ref: RefObject<HTMLElement>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0, ratio: 1 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) {
      return undefined;
    }
    const look = (): void => {
      const now = { width: element.clientWidth, height: element.clientHeight, ratio: window.devicePixelRatio };
      setSize(before =>
        before.width === now.width && before.height === now.height && before.ratio === now.ratio ? before : now
      );
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    window.addEventListener('resize', look); // the page's zoom changes the ratio alone where sizes stay
    return () => {
      observer.disconnect();
      window.removeEventListener('resize', look);
    };
  }, [ref]);
  return size;
}
