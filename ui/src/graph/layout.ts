import { layout as arrange, graphlib } from '@dagrejs/dagre';
import type { Box, Layout } from './box';
import { layered } from './layers';

const GAP_BETWEEN_RANKS = 44;
const GAP_IN_RANK = 18;
/** Dagre makes the nicer picture, in a time that grows with the square of the links: of 50 it takes some 30 ms, of 150 half a second. */
const MOST_LINKS = 50;

/** Boxes placed from left to right, as data flows. The same input gives the same picture. */
export function layOut(boxes: readonly Box[], links: readonly { src: string; dst: string }[]): Layout {
  if (links.length > MOST_LINKS) return layered(boxes, links, { rank: GAP_BETWEEN_RANKS, box: GAP_IN_RANK });
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', ranksep: GAP_BETWEEN_RANKS, nodesep: GAP_IN_RANK, ranker: 'network-simplex' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of [...boxes].sort(byId)) graph.setNode(id, { width, height });
  for (const { src, dst } of [...links].sort(byEnds)) graph.setEdge(src, dst);
  arrange(graph);
  const placed = boxes.map((box) => {
    const { x, y } = graph.node(box.id) as { x: number; y: number };
    return [box.id, { ...box, x: x - box.width / 2, y: y - box.height / 2 }] as const;
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { boxes: new Map(placed), width: finite(width), height: finite(height) };
}

/** An empty graph measures minus infinity. */
function finite(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

function byId(a: Box, b: Box): number {
  return a.id < b.id ? -1 : 1;
}

function byEnds(a: { src: string; dst: string }, b: { src: string; dst: string }): number {
  return a.src + a.dst < b.src + b.dst ? -1 : 1;
}
