/** The coordinates of a layered layout whose columns are in order. */
import { type Box, type Ends, type Gaps, type Layout, linkKey, type Point } from './boxes';

export type Targets = ReadonlyMap<string, readonly string[]>;

/** A link that crosses columns. */
export interface LongLink extends Ends {
  /** Ids of its points, one for each column that it crosses, and the first of these columns. */
  points: string[];
  rank: number;
}

const SWEEPS = 8;
/** A box without neighbours on a side gives way to the others: its wish is only its place. */
const LIGHT = 0.001;
/** Space above a point of a long link. */
const POINT_GAP = 10;

export function meanOf(ids: readonly string[], heightOf: (id: string) => number): number | undefined {
  return ids.length === 0 ? undefined : ids.reduce((sum, id) => sum + heightOf(id), 0) / ids.length;
}

/** Place each box as near to the middle of its neighbours as the order of its column allows. A chain of boxes becomes a straight line. */
export function placeColumns(
  columns: readonly string[][],
  boxes: ReadonlyMap<string, Box>,
  neighbours: Targets,
  inputs: Targets,
  long: readonly LongLink[],
  gaps: Gaps,
): Layout {
  const middles = placeMiddles(columns, boxes, neighbours, inputs, gaps);
  const middleOf = (id: string) => middles.get(id) ?? 0;
  const top = Math.min(...[...boxes.values()].map(({ id, height }) => middleOf(id) - height / 2));
  const placed: Layout['boxes'] = new Map();
  const bounds: { left: number; right: number }[] = [];
  let left = 0;
  for (const column of columns) {
    const own = column.flatMap((id) => boxes.get(id) ?? []);
    const width = Math.max(0, ...own.map((box) => box.width));
    for (const box of own)
      placed.set(box.id, { ...box, x: left + (width - box.width) / 2, y: middleOf(box.id) - box.height / 2 - top });
    bounds.push({ left, right: left + width });
    left += width + gaps.rank;
  }
  const bottom = Math.max(0, ...[...placed.values()].map((box) => box.y + box.height));
  const routes = routesOf(long, bounds, (id) => middleOf(id) - top);
  return { boxes: placed, routes, width: Math.max(0, left - gaps.rank), height: bottom };
}

/** The height of the middle of each box and point. */
function placeMiddles(
  columns: readonly string[][],
  boxes: ReadonlyMap<string, Box>,
  neighbours: Targets,
  inputs: Targets,
  gaps: Gaps,
): Map<string, number> {
  const placed = columns.map((ids) => ({ ids, offsets: offsetsOf(ids, boxes, gaps) }));
  const middles = new Map<string, number>();
  for (const { ids, offsets } of placed)
    for (const [place, id] of ids.entries()) middles.set(id, (offsets[place] ?? 0) - (offsets.at(-1) ?? 0) / 2);
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const column of sweep % 2 === 0 ? placed : placed.toReversed()) settle(column, neighbours, middles);
  // Between two neighbours at different heights, a box would bend the line. From left to right, each box continues the line of its inputs.
  for (const column of placed) settle(column, inputs, middles);
  return middles;
}

interface Column {
  ids: readonly string[];
  /** The distances of the members from the first one. */
  offsets: readonly number[];
}

/** Move the members of a column to the middles of the boxes near them, as far as the order of the column allows. */
function settle({ ids, offsets }: Column, near: Targets, middles: Map<string, number>): void {
  const middleOf = (id: string) => middles.get(id) ?? 0;
  const wishes = ids.map((id) => meanOf(near.get(id) ?? [], middleOf) ?? middleOf(id));
  const places = ascending(
    wishes.map((wish, place) => wish - (offsets[place] ?? 0)),
    ids.map((id) => (near.has(id) ? 1 : LIGHT)),
  );
  for (const [place, id] of ids.entries()) middles.set(id, (places[place] ?? 0) + (offsets[place] ?? 0));
}

/** The distance from the middle of the first member of a column to the middle of each member. */
function offsetsOf(column: readonly string[], boxes: ReadonlyMap<string, Box>, gaps: Gaps): number[] {
  const heightOf = (id: string | undefined) => boxes.get(id ?? '')?.height ?? 0;
  let offset = 0;
  return column.map((id, index) => {
    if (index > 0) offset += (heightOf(column[index - 1]) + heightOf(id)) / 2 + (boxes.has(id) ? gaps.box : POINT_GAP);
    return offset;
  });
}

function routesOf(
  long: readonly LongLink[],
  bounds: readonly { left: number; right: number }[],
  heightOf: (id: string) => number,
): Map<string, Point[]> {
  const routes = long.map((link) => {
    const points = link.points.flatMap((id, index) => {
      const { left, right } = bounds[link.rank + index] ?? { left: 0, right: 0 };
      return [left, right].map((x) => ({ x, y: heightOf(id) }));
    });
    return [linkKey(link), points] as const;
  });
  return new Map(routes);
}

/** The ascending numbers that are nearest to the wishes, in the sense of least squares. A wish without a weight has the weight 1. */
export function ascending(wishes: readonly number[], weights: readonly number[] = []): number[] {
  const blocks: { sum: number; weight: number; count: number }[] = [];
  for (const [index, wish] of wishes.entries()) {
    const own = weights[index] ?? 1;
    let block = { sum: wish * own, weight: own, count: 1 };
    for (let last = blocks.at(-1); last && last.sum / last.weight > block.sum / block.weight; last = blocks.at(-1)) {
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  return blocks.flatMap(({ sum, weight, count }) => Array.from({ length: count }, () => sum / weight));
}
