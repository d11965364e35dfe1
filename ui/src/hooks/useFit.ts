import { useReactFlow } from '@xyflow/react';
import { useEffect } from 'react';
import { MARGIN } from '../graph/view';

/** How a drawing is brought into its canvas: whole where it can be, never larger than life. */
export const FIT = {
  padding: {
    top: `${MARGIN.top}px`,
    bottom: `${MARGIN.bottom}px`,
    left: `${MARGIN.side}px`,
    right: `${MARGIN.side}px`,
  },
  maxZoom: 1,
  minZoom: 0.35,
} as const;

const CANVAS_GROWS = 180;

/** Keeps a drawing in view when it, or the size of its canvas, changes. */
export function useFit(drawing: unknown, width: number, height: number): void {
  const { fitView } = useReactFlow();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect is about these changing
  useEffect(() => {
    const timer = setTimeout(() => fitView({ ...FIT, duration: 140 }), CANVAS_GROWS);
    return () => clearTimeout(timer);
  }, [drawing, width, height, fitView]);
}
