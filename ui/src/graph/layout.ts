import { type Box, type Ends, type Gaps, type Layout, linkKey } from './boxes';
import { type LongLink, meanOf, placeColumns, type Targets } from './coordinates';

const GAPS: Gaps = { rank: 44, box: 20 };
const SWEEPS = 8;
/** Above this number of points, long links are not routed around boxes. */
const MAX_POINTS = 3000;

/**
 * Place boxes in columns from left to right in the direction of the data, always in the same way for the same input. The time grows with
 * the number of links. Links that close a cycle do not count. Each box is close to the middle of its neighbours, and long links get space of
 * their own.
 */
export function layOut(boxes: readonly Box[], links: readonly Ends[], gaps: Gaps = GAPS): Layout {
  const ids = boxes.map((box) => box.id).sort();
  const forward = removeCycles(ids, links);
  const ranks = rankBoxes(ids, forward);
  const chains = splitLinks(forward, ranks);
  const columns = columnsOf(ranks, chains.long);
  const backward = chains.steps.map(({ src, dst }) => ({ src: dst, dst: src }));
  const neighbours = collect([...chains.steps, ...backward]);
  orderColumns(columns, neighbours);
  const byId = new Map(boxes.map((box) => [box.id, box]));
  return placeColumns(columns, byId, neighbours, collect(backward), chains.long, gaps);
}

/** Ids of the boxes and points in each column. */
function columnsOf(ranks: ReadonlyMap<string, number>, long: readonly LongLink[]): string[][] {
  const points = long.flatMap(({ points: ids, rank }) => ids.map((id, index) => [id, rank + index] as const));
  const byRank = Map.groupBy([...ranks, ...points], ([, rank]) => rank);
  return Array.from({ length: Math.max(-1, ...byRank.keys()) + 1 }, (_, rank) =>
    (byRank.get(rank) ?? []).map(([id]) => id),
  );
}

/** Split links into steps from column to column. */
function splitLinks(links: readonly Ends[], ranks: ReadonlyMap<string, number>): { steps: Ends[]; long: LongLink[] } {
  const rankOf = (id: string) => ranks.get(id) ?? 0;
  const total = links.reduce((sum, { src, dst }) => sum + Math.max(0, rankOf(dst) - rankOf(src) - 1), 0);
  if (total > MAX_POINTS) return { steps: [...links], long: [] };
  const steps: Ends[] = [];
  const long: LongLink[] = [];
  for (const link of links) {
    const { src, dst } = link;
    const rank = rankOf(src) + 1;
    const points = Array.from({ length: Math.max(0, rankOf(dst) - rank) }, (_, index) => `${index} ${linkKey(link)}`);
    if (points.length > 0) long.push({ ...link, points, rank });
    const stops = [src, ...points, dst];
    for (const [index, stop] of stops.slice(1).entries()) steps.push({ src: stops[index] ?? src, dst: stop });
  }
  return { steps, long };
}

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

/** The length of the longest path to each box. A box without inputs is in the column before its first target. */
function rankBoxes(ids: readonly string[], links: readonly Ends[]): Map<string, number> {
  const inputs = new Map(ids.map((id) => [id, 0]));
  for (const { dst } of links) inputs.set(dst, (inputs.get(dst) ?? 0) + 1);
  const targets = collect(links);
  const ranks = new Map(ids.map((id) => [id, 0]));
  const sources = ids.filter((id) => inputs.get(id) === 0);
  const ready = [...sources];
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const dst of targets.get(id) ?? []) {
      ranks.set(dst, Math.max(ranks.get(dst) ?? 0, (ranks.get(id) ?? 0) + 1));
      const rest = (inputs.get(dst) ?? 0) - 1;
      inputs.set(dst, rest);
      if (rest === 0) ready.push(dst);
    }
  }
  moveSources(sources, targets, ranks);
  return ranks;
}

function moveSources(sources: readonly string[], targets: Targets, ranks: Map<string, number>): void {
  for (const id of sources) {
    const next = (targets.get(id) ?? []).map((dst) => ranks.get(dst) ?? 1);
    if (next.length > 0) ranks.set(id, Math.min(...next) - 1);
  }
}

/** Sort each column by the mean height of the neighbours, forward and backward by turns. */
function orderColumns(columns: string[][], neighbours: Targets): void {
  const heights = new Map<string, number>();
  const heightOf = (id: string) => heights.get(id) ?? 0;
  const settle = (column: string[]) => {
    for (const [index, id] of column.entries()) heights.set(id, (index + 0.5) / column.length);
  };
  columns.forEach(settle);
  const mean = (id: string) => meanOf(neighbours.get(id) ?? [], heightOf) ?? heightOf(id);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const column of sweep % 2 === 0 ? columns : columns.toReversed()) {
      const means = new Map(column.map((id) => [id, mean(id)]));
      column.sort((a, b) => (means.get(a) ?? 0) - (means.get(b) ?? 0) || order(a, b));
      settle(column);
    }
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : 1;
}
