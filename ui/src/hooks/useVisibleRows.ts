import { type RefObject, useLayoutEffect, useState } from 'react';

interface VisibleRows {
  /** The first visible row, and the one after the last. */
  from: number;
  to: number;
  /** Scroll as little as shows a row. */
  show: (row: number) => void;
}

/** The rows that are in sight in an element that scrolls. All have the same height. */
export function useVisibleRows(
  frame: RefObject<HTMLElement | null>,
  { count, height }: { count: number; height: number },
): VisibleRows {
  const [range, setRange] = useState({ from: 0, to: 0 });
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const look = () => {
      const from = Math.max(0, Math.min(count - 1, Math.floor(element.scrollTop / height)));
      const to = Math.min(count, Math.ceil((element.scrollTop + element.clientHeight) / height));
      setRange((old) => (old.from === from && old.to === to ? old : { from, to }));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [frame, count, height]);
  const show = (row: number) => {
    const element = frame.current;
    if (!element) return;
    const head = element.scrollHeight - count * height; // it stays above the rows
    const least = (row + 1) * height + head - element.clientHeight;
    element.scrollTop = Math.min(row * height, Math.max(least, element.scrollTop));
  };
  return { ...range, show };
}
