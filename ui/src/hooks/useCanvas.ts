import { useReactFlow } from '@xyflow/react';
import { type RefObject, startTransition, useEffect, useRef, useState } from 'react';
import type { PlacedBox } from '../graph/boxes';
import { fitViewport, isReadable, keepInSight, keepPlace, READABLE_ZOOM, withoutGaps } from '../graph/viewport';

const DURATION_MS = 180;
/** Width of the content of a printed page in pixels: A4 with its margins. */
const PAPER_WIDTH = 640;

export interface Size {
  width: number;
  height: number;
}

interface Drawing extends Size {
  cards: readonly PlacedBox[];
}

export interface Fit {
  /** Show the full drawing. The function of React Flow knows only the visible cards. */
  showAll: () => void;
  /** Move the window until a card or the card of a column is in it. */
  showCard: (id: string) => Promise<unknown>;
  /** Show a card at a readable size. */
  goToCard: (id: string) => void;
}

/**
 * Show the full drawing while it is readable. Otherwise the card in the middle, on which the reader acted, keeps its place in the window
 * when the drawing or the size of the canvas changes.
 */
export function useFit(drawing: Drawing, { width, height }: Size, middle: PlacedBox | undefined): Fit {
  const { setViewport, getViewport } = useReactFlow();
  const before = useRef<Drawing>(undefined);
  useEffect(() => {
    if (width === 0) return;
    const canvas = { width, height };
    const last = before.current;
    before.current = drawing;
    if (!last || !middle) {
      setViewport(fitViewport(drawing, canvas, middle));
      return;
    }
    const old = last.cards.find(({ id }) => id === middle.id);
    const isNew = last !== drawing;
    const next =
      (isNew && isReadable(drawing, canvas)) || !old
        ? fitViewport(drawing, canvas, middle)
        : keepInSight(keepPlace(getViewport(), old, middle), middle, canvas);
    setViewport(isNew ? next : withoutGaps(next, drawing, canvas), { duration: DURATION_MS });
  }, [drawing, width, height, middle, setViewport, getViewport]);
  useEffect(() => {
    // Paper does not scroll, so the whole drawing is printed. Otherwise the source would be cut off.
    const canvas = { width: Math.min(width, PAPER_WIDTH), height };
    const onPrint = () => setViewport(fitViewport(drawing, canvas));
    addEventListener('beforeprint', onPrint);
    return () => removeEventListener('beforeprint', onPrint);
  }, [drawing, width, height, setViewport]);
  return {
    showAll: () => setViewport(fitViewport(drawing, { width, height }), { duration: DURATION_MS }),
    goToCard: (id) => {
      const card = drawing.cards.find((each) => each.id === id);
      if (!card) return;
      const [canvas, now] = [{ width, height }, getViewport()];
      const next = now.zoom < READABLE_ZOOM ? fitViewport(drawing, canvas, card) : keepInSight(now, card, canvas);
      setViewport(next, { duration: DURATION_MS });
    },
    showCard: async (id) => {
      const card = drawing.cards.find((each) => each.id === id);
      if (card) await setViewport(keepInSight(getViewport(), card, { width, height }), { duration: DURATION_MS });
    },
  };
}

/** The current size of an element in pixels, 0 at first. */
export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (!entry) return;
      const { width, height } = entry.contentRect;
      // React draws a transition in slices, which suits large content.
      startTransition(() => setSize({ width, height }));
    });
    observer.observe(target);
    return () => observer.disconnect();
  }, [element]);
  return size;
}
