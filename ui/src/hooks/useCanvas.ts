import { useReactFlow } from '@xyflow/react';
import { type RefObject, startTransition, useEffect, useRef, useState } from 'react';
import type { PlacedBox } from '../graph/layout';
import { fitViewport } from '../graph/viewport';

const DURATION_MS = 140;

interface Size {
  width: number;
  height: number;
}

/**
 * Fit the viewport again when the drawing, its canvas or its centre changes. Return a function that shows the full drawing: the one of
 * React Flow knows only the visible cards. The full drawing stays visible while only the size of the canvas changes.
 */
export function useFit(drawing: Size, width: number, height: number, centre: PlacedBox | undefined): () => void {
  const { setViewport } = useReactFlow();
  const isFirst = useRef(true);
  const full = useRef<Size>(undefined);
  useEffect(() => {
    if (width === 0) return;
    const duration = isFirst.current ? 0 : DURATION_MS;
    isFirst.current = false;
    const isFull = full.current?.width === drawing.width && full.current.height === drawing.height;
    setViewport(fitViewport(drawing, { width, height }, isFull ? undefined : centre), { duration });
  }, [drawing, width, height, centre, setViewport]);
  return () => {
    full.current = drawing;
    setViewport(fitViewport(drawing, { width, height }), { duration: DURATION_MS });
  };
}

/** The current width of an element in pixels, 0 at first. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      // React draws a transition in slices, which suits large content.
      if (entry) startTransition(() => setWidth(entry.contentRect.width));
    });
    observer.observe(target);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
