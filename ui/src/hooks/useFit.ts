import { useReactFlow } from '@xyflow/react';
import { useEffect } from 'react';
import { fittingZoom, MARGIN } from '../graph/view';

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

interface Canvas {
  width: number;
  height: number;
  /** Id of the node whose details are shown. */
  selected: string | undefined;
}

const CANVAS_GROWS = 180;
const READABLE = 0.8;

/** Keeps a drawing in view when it, or its canvas, changes. Where the whole would be too small to read, the selected node is shown. */
export function useFit(drawing: { width: number }, { width, height, selected }: Canvas): void {
  const { fitView } = useReactFlow();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new height needs a new fit
  useEffect(() => {
    const near = selected !== undefined && fittingZoom(drawing, width) < READABLE;
    const part = near ? { nodes: [{ id: selected }], maxZoom: 0.9 } : {};
    const timer = setTimeout(() => fitView({ ...FIT, ...part, duration: 140 }), CANVAS_GROWS);
    return () => clearTimeout(timer);
  }, [drawing, width, height, selected, fitView]);
}
