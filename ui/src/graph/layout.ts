import { graphlib, layout as runDagre } from '@dagrejs/dagre';

export interface Box {
  id: string;
  width: number;
  height: number;
}

/** A box with the coordinates of its upper left corner. */
export interface PlacedBox extends Box {
  x: number;
  y: number;
}

export interface Layout {
  boxes: Map<string, PlacedBox>;
  width: number;
  height: number;
}

export interface Ends {
  src: string;
  dst: string;
}

interface Gaps {
  rank: number;
  box: number;
}

const GAPS: Gaps = { rank: 44, box: 18 };
/** Dagre draws the better picture, but its time grows with the square of the links: 30 ms for 50 links, 500 ms for 150. */
const MAX_DAGRE_LINKS = 50;
const SWEEPS = 6;

/** Place boxes from left to right in the direction of the data, always in the same way for the same input. */
export function layOut(boxes: readonly Box[], links: readonly Ends[]): Layout {
  if (links.length > MAX_DAGRE_LINKS) return layOutInColumns(boxes, links, GAPS);
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', ranksep: GAPS.rank, nodesep: GAPS.box, ranker: 'network-simplex' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of boxes.toSorted((a, b) => order(a.id, b.id))) graph.setNode(id, { width, height });
  for (const { src, dst } of links.toSorted((a, b) => order(a.src + a.dst, b.src + b.dst))) graph.setEdge(src, dst);
  runDagre(graph);
  const placed = boxes.map((box) => {
    const { x, y } = graph.node(box.id) as { x: number; y: number };
    return [box.id, { ...box, x: x - box.width / 2, y: y - box.height / 2 }] as const;
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  // Dagre reports a size of minus infinity for an empty graph.
  return { boxes: new Map(placed), width: Math.max(0, width), height: Math.max(0, height) };
}

function order(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/**
 * Place boxes in columns with a simple layered layout, whose time grows with the number of links.
 * Links that close a cycle do not count. Each box is close to the middle of its neighbours.
 */
export function layOutInColumns(boxes: readonly Box[], links: readonly Ends[], gaps: Gaps): Layout {
  const ids = boxes.map((box) => box.id).sort();
  const forward = removeCycles(ids, links);
  const ranks = rankBoxes(ids, forward);
  const columns: string[][] = [];
  for (const id of ids) {
    const rank = ranks.get(id) ?? 0;
    columns[rank] = [...(columns[rank] ?? []), id];
  }
  orderColumns(columns, collect([...forward, ...forward.map(({ src, dst }) => ({ src: dst, dst: src }))]));
  return placeColumns(columns, new Map(boxes.map((box) => [box.id, box])), gaps);
}

type Targets = ReadonlyMap<string, readonly string[]>;

/** The targets of the links by their source. */
function collect(links: readonly Ends[]): Targets {
  const targets = new Map<string, string[]>();
  for (const { src, dst } of links) {
    const list = targets.get(src);
    if (list) list.push(dst);
    else targets.set(src, [dst]);
  }
  return targets;
}

/** Walk depth first, and drop each link to a box that is still open. */
function removeCycles(ids: readonly string[], links: readonly Ends[]): Ends[] {
  const targets = collect(links);
  const isOpen = new Map<string, boolean>();
  const forward: Ends[] = [];
  for (const root of ids) {
    if (isOpen.has(root)) continue;
    const stack = [{ id: root, next: 0 }];
    isOpen.set(root, true);
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const dst = targets.get(top.id)?.[top.next++];
      if (dst === undefined) {
        isOpen.set(top.id, false);
        stack.pop();
        continue;
      }
      const isKnown = isOpen.has(dst);
      if (!isOpen.get(dst)) forward.push({ src: top.id, dst });
      if (!isKnown) stack.push({ id: dst, next: 0 });
      isOpen.set(dst, isOpen.get(dst) ?? true);
    }
  }
  return forward;
}

/** The length of the longest path to each box. */
function rankBoxes(ids: readonly string[], links: readonly Ends[]): Map<string, number> {
  const inputs = new Map(ids.map((id) => [id, 0]));
  for (const { dst } of links) inputs.set(dst, (inputs.get(dst) ?? 0) + 1);
  const targets = collect(links);
  const ranks = new Map(ids.map((id) => [id, 0]));
  const ready = ids.filter((id) => inputs.get(id) === 0);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const dst of targets.get(id) ?? []) {
      ranks.set(dst, Math.max(ranks.get(dst) ?? 0, (ranks.get(id) ?? 0) + 1));
      const rest = (inputs.get(dst) ?? 0) - 1;
      inputs.set(dst, rest);
      if (rest === 0) ready.push(dst);
    }
  }
  return ranks;
}

/** Sort each column by the mean height of the neighbours, forward and backward by turns. */
function orderColumns(columns: string[][], neighbours: Targets): void {
  const heights = new Map<string, number>();
  const heightOf = (id: string) => heights.get(id) ?? 0;
  const settle = (column: string[]) => {
    for (const [index, id] of column.entries()) heights.set(id, (index + 0.5) / column.length);
  };
  columns.forEach(settle);
  const mean = (id: string) => {
    const others = neighbours.get(id) ?? [];
    return others.length === 0 ? heightOf(id) : others.reduce((sum, other) => sum + heightOf(other), 0) / others.length;
  };
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const column of sweep % 2 === 0 ? columns : columns.toReversed()) {
      const means = new Map(column.map((id) => [id, mean(id)]));
      column.sort((a, b) => (means.get(a) ?? 0) - (means.get(b) ?? 0) || order(a, b));
      settle(column);
    }
  }
}

function placeColumns(columns: string[][], boxes: ReadonlyMap<string, Box>, gaps: Gaps): Layout {
  const stacks = columns.map((column) => column.flatMap((id) => boxes.get(id) ?? []));
  const heights = stacks.map((stack) => stack.reduce((sum, box) => sum + box.height + gaps.box, -gaps.box));
  const height = Math.max(0, ...heights);
  const placed: Layout['boxes'] = new Map();
  let x = 0;
  for (const [index, stack] of stacks.entries()) {
    let y = (height - (heights[index] ?? 0)) / 2;
    for (const box of stack) {
      placed.set(box.id, { ...box, x, y });
      y += box.height + gaps.box;
    }
    x += Math.max(0, ...stack.map((box) => box.width)) + gaps.rank;
  }
  return { boxes: placed, width: Math.max(0, x - gaps.rank), height };
}
