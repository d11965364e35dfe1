import { graphlib, layout as runDagre } from '@dagrejs/dagre';
import { type Box, type Ends, type Gaps, type Layout, linkKey, type PlacedBox, type Point } from './boxes';
import { POINT_GAP } from './coordinates';
import { layOutInColumns, order } from './layered';

const GAPS: Gaps = { rank: 44, box: 20 };
/** Dagre draws the better picture, but its time grows with the square of the links: 30 ms for 50 links, 500 ms for 150. */
const MAX_DAGRE_LINKS = 50;

/** Place boxes from left to right in the direction of the data, always in the same way for the same input. */
export function layOut(boxes: readonly Box[], links: readonly Ends[]): Layout {
  if (links.length > MAX_DAGRE_LINKS) return layOutInColumns(boxes, links, GAPS);
  const graph = new graphlib.Graph();
  graph.setGraph({
    rankdir: 'LR',
    ranksep: GAPS.rank,
    nodesep: GAPS.box,
    edgesep: POINT_GAP,
    ranker: 'network-simplex',
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of boxes.toSorted((a, b) => order(a.id, b.id))) graph.setNode(id, { width, height });
  for (const { src, dst } of links.toSorted((a, b) => order(a.src + a.dst, b.src + b.dst))) graph.setEdge(src, dst);
  runDagre(graph);
  const placed = boxes.map((box) => {
    const { x, y } = graph.node(box.id) as { x: number; y: number };
    return [box.id, { ...box, x: x - box.width / 2, y: y - box.height / 2 }] as const;
  });
  const points = links.map((link) => [linkKey(link), pointsOf(graph.edge(link.src, link.dst))] as const);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const routes = widen(new Map(points), new Map(placed));
  // Dagre reports a size of minus infinity for an empty graph.
  return { boxes: new Map(placed), routes, width: Math.max(0, width), height: Math.max(0, height) };
}

/** The points of a link without those at its ends. */
function pointsOf(edge: unknown): Point[] {
  return ((edge as { points?: Point[] } | undefined)?.points ?? []).slice(1, -1);
}

/** Replace each point in a column of boxes by the points at both sides of the column, and drop the points between columns. */
function widen(points: ReadonlyMap<string, Point[]>, boxes: ReadonlyMap<string, PlacedBox>): Map<string, Point[]> {
  const all = [...boxes.values()];
  const columns = new Map<number, { left: number; right: number } | undefined>();
  const columnAt = (x: number) => {
    if (columns.has(x)) return columns.get(x);
    const column = all.filter((box) => box.x <= x && x <= box.x + box.width);
    const [left, right] = [column.map((box) => box.x), column.map((box) => box.x + box.width)];
    const bounds = column.length > 0 ? { left: Math.min(...left), right: Math.max(...right) } : undefined;
    columns.set(x, bounds);
    return bounds;
  };
  const routes = new Map<string, Point[]>();
  for (const [key, own] of points) {
    const route = own.flatMap(({ x, y }) => {
      const column = columnAt(x);
      return column
        ? [
            { x: column.left, y },
            { x: column.right, y },
          ]
        : [];
    });
    if (route.length > 0) routes.set(key, route);
  }
  return routes;
}
