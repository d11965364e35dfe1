import { type RefObject, startTransition, useEffect, useState } from 'react';

/** The width of an element in pixels, as it changes; 0 before it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observed = element.current;
    if (!observed) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      // What takes the width may be large: it is drawn in slices.
      if (entry) startTransition(() => setWidth(entry.contentRect.width));
    });
    observer.observe(observed);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
