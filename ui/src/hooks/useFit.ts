import { useReactFlow } from '@xyflow/react';
import { useEffect, useRef } from 'react';
import type { Placed } from '../graph/box';
import { viewportOf } from '../graph/view';

const MOVES = 140;

interface Drawing {
  width: number;
  height: number;
}

/**
 * Brings a drawing into sight again when it, its canvas or what stands in its middle changes. It begins where `viewportOf` says.
 * Returns the way to see the whole; React Flow's own knows only of the boxes in sight. Who asked for the whole keeps it while only the
 * canvas changes its size, as when a panel or a scroll bar comes late.
 */
export function useFit(drawing: Drawing, width: number, height: number, centre: Placed | undefined): () => void {
  const { setViewport } = useReactFlow();
  const isFirst = useRef(true);
  const whole = useRef<Drawing>(undefined);
  useEffect(() => {
    if (width === 0) return;
    const duration = isFirst.current ? 0 : MOVES;
    isFirst.current = false;
    const isWhole = whole.current?.width === drawing.width && whole.current.height === drawing.height;
    setViewport(viewportOf(drawing, { width, height }, isWhole ? undefined : centre), { duration });
  }, [drawing, width, height, centre, setViewport]);
  return () => {
    whole.current = drawing;
    setViewport(viewportOf(drawing, { width, height }), { duration: MOVES });
  };
}
