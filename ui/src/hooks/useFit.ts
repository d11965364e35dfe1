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
 * Returns the way to see the whole; React Flow's own knows only of the boxes in sight.
 */
export function useFit(drawing: Drawing, width: number, height: number, centre: Placed | undefined): () => void {
  const { setViewport } = useReactFlow();
  const isFirst = useRef(true);
  useEffect(() => {
    if (width === 0) return;
    const duration = isFirst.current ? 0 : MOVES;
    isFirst.current = false;
    setViewport(viewportOf(drawing, { width, height }, centre), { duration });
  }, [drawing, width, height, centre, setViewport]);
  return () => setViewport(viewportOf(drawing, { width, height }), { duration: MOVES });
}
