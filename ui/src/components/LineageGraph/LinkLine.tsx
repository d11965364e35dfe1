import { BaseEdge, type Edge, type EdgeProps, getBezierPath } from '@xyflow/react';
import type { Point } from '../../graph/boxes';
import { liftOf, loopBelow, pathThrough } from '../../graph/route';
import { isColumnLink } from '../../graph/scene';
import type { LinkData } from './elements';
import { usePathState } from './pathHighlight';

/** A link between two cards or columns. A long link passes around the cards between. Its width shows the number of flows. */
export function LinkLine(props: EdgeProps<Edge<LinkData>>) {
  const { id, sourceX, sourceY, targetX, targetY, label, data } = props;
  const link = data?.link;
  const state = usePathState(id);
  const [bezier, labelX, labelY] = getBezierPath(props);
  const routed = routeOf({ x: sourceX, y: sourceY }, link?.route, { x: targetX, y: targetY });
  return (
    <g className={`${state} ${link && isColumnLink(link) ? '' : widthClass(link?.weight)}`}>
      <BaseEdge
        id={id}
        path={routed?.path ?? bezier}
        {...(label && {
          label,
          labelX: routed?.label.x ?? labelX,
          labelY: routed?.label.y ?? labelY - liftOf(targetX - sourceX),
        })}
        labelBgPadding={[5, 2]}
        labelBgBorderRadius={6}
        interactionWidth={14}
      />
    </g>
  );
}

function routeOf(start: Point, route: readonly Point[] | undefined, end: Point) {
  if (end.x < start.x) return loopBelow(start, end);
  return route && pathThrough(start, route, end);
}

function widthClass(weight = 1): string {
  return weight < 2 ? '' : weight < 10 ? 'few' : weight < 100 ? 'many' : 'most';
}
