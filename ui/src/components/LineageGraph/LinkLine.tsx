import { BaseEdge, type Edge, type EdgeProps, getBezierPath } from '@xyflow/react';
import { pathThrough } from '../../graph/route';
import type { LinkData } from './elements';
import { usePathState } from './pathHighlight';

/** A link between two cards or columns. A long link passes around the cards between. Its width shows the number of flows. */
export function LinkLine(props: EdgeProps<Edge<LinkData>>) {
  const { id, sourceX, sourceY, targetX, targetY, label, data } = props;
  const link = data?.link;
  const state = usePathState(id);
  const route = link?.route;
  const [bezier, labelX, labelY] = getBezierPath(props);
  const routed = route && pathThrough({ x: sourceX, y: sourceY }, route, { x: targetX, y: targetY });
  return (
    <g className={`${state} ${widthClass(link?.weight)}`}>
      <BaseEdge
        id={id}
        path={routed?.path ?? bezier}
        {...(label && { label, labelX: routed?.label.x ?? labelX, labelY: routed?.label.y ?? labelY })}
        labelBgPadding={[5, 2]}
        labelBgBorderRadius={6}
        interactionWidth={14}
      />
    </g>
  );
}

function widthClass(weight = 1): string {
  return weight < 2 ? '' : weight < 10 ? 'few' : weight < 100 ? 'many' : 'most';
}
