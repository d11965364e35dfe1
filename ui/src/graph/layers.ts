import type { Box, Layout } from './box';

interface Ends {
  src: string;
  dst: string;
}

const SWEEPS = 6;

/**
 * Boxes in columns, as data flows, for drawings of hundreds of links: a plain layered layout in time that grows with the links.
 * Links that close a circle do not count for the column; boxes stand near the middle of those that they are linked with.
 */
export function layered(boxes: readonly Box[], links: readonly Ends[], gaps: { rank: number; box: number }): Layout {
  const ids = boxes.map((box) => box.id).sort();
  const forward = withoutCircles(ids, links);
  const rank = ranksOf(ids, forward);
  const columns: string[][] = [];
  for (const id of ids) {
    const column = rank.get(id) ?? 0;
    columns[column] = [...(columns[column] ?? []), id];
  }
  arrange(columns, neighboursOf(ids, forward));
  return place(columns, new Map(boxes.map((box) => [box.id, box])), gaps);
}

/** The links without those that lead back to where a walk came from. */
function withoutCircles(ids: readonly string[], links: readonly Ends[]): Ends[] {
  const following = bySource(links);
  const state = new Map<string, 'open' | 'done'>();
  const kept: Ends[] = [];
  for (const root of ids) if (!state.has(root)) walk(root, following, state, kept);
  return kept;
}

/** Follows links from a box, depth first. A link to a box that is still open closes a circle. */
function walk(root: string, following: Following, state: Map<string, 'open' | 'done'>, kept: Ends[]): void {
  const stack = [{ id: root, next: 0 }];
  state.set(root, 'open');
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const link = following.get(top.id)?.[top.next++];
    if (!link) {
      state.set(top.id, 'done');
      stack.pop();
      continue;
    }
    const seen = state.get(link.dst);
    if (seen !== 'open') kept.push(link);
    if (!seen) {
      state.set(link.dst, 'open');
      stack.push({ id: link.dst, next: 0 });
    }
  }
}

type Following = ReadonlyMap<string, readonly Ends[]>;

function bySource(links: readonly Ends[]): Following {
  const following = new Map<string, Ends[]>();
  for (const link of links) {
    const known = following.get(link.src);
    if (known) known.push(link);
    else following.set(link.src, [link]);
  }
  return following;
}

/** For each box the length of the longest way to it. */
function ranksOf(ids: readonly string[], links: readonly Ends[]): Map<string, number> {
  const waits = new Map(ids.map((id) => [id, 0]));
  for (const { dst } of links) waits.set(dst, (waits.get(dst) ?? 0) + 1);
  const following = bySource(links);
  const rank = new Map(ids.map((id) => [id, 0]));
  const ready = ids.filter((id) => waits.get(id) === 0);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const { dst } of following.get(id) ?? []) {
      rank.set(dst, Math.max(rank.get(dst) ?? 0, (rank.get(id) ?? 0) + 1));
      const left = (waits.get(dst) ?? 0) - 1;
      waits.set(dst, left);
      if (left === 0) ready.push(dst);
    }
  }
  return rank;
}

function neighboursOf(ids: readonly string[], links: readonly Ends[]): Map<string, string[]> {
  const neighbours = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const { src, dst } of links) {
    neighbours.get(src)?.push(dst);
    neighbours.get(dst)?.push(src);
  }
  return neighbours;
}

/** Orders each column by where the neighbours of its boxes stand, there and back, a few times. */
function arrange(columns: string[][], neighbours: ReadonlyMap<string, readonly string[]>): void {
  const height = new Map<string, number>();
  const settle = (column: string[]) => {
    for (const [index, id] of column.entries()) height.set(id, (index + 0.5) / column.length);
  };
  columns.forEach(settle);
  const middle = (id: string) => {
    const near = neighbours.get(id) ?? [];
    return near.length === 0
      ? (height.get(id) ?? 0)
      : near.reduce((sum, other) => sum + (height.get(other) ?? 0), 0) / near.length;
  };
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const column of sweep % 2 === 0 ? columns : columns.toReversed()) {
      const wanted = new Map(column.map((id) => [id, middle(id)]));
      column.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0) || (a < b ? -1 : 1));
      settle(column);
    }
  }
}

function place(columns: string[][], boxes: ReadonlyMap<string, Box>, gaps: { rank: number; box: number }): Layout {
  const known = columns.map((column) => column.flatMap((id) => boxes.get(id) ?? []));
  const heights = known.map((column) => column.reduce((sum, box) => sum + box.height + gaps.box, -gaps.box));
  const height = Math.max(0, ...heights);
  const placed: Layout['boxes'] = new Map();
  let x = 0;
  for (const [index, column] of known.entries()) {
    let y = (height - (heights[index] ?? 0)) / 2;
    for (const box of column) {
      placed.set(box.id, { ...box, x, y });
      y += box.height + gaps.box;
    }
    x += Math.max(0, ...column.map((box) => box.width)) + gaps.rank;
  }
  return { boxes: placed, width: Math.max(0, x - gaps.rank), height };
}
