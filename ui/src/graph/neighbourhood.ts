import { type Flow, type FlowLink, ownerOf } from './flow';
import { isData } from './types';

/** The side of a node: upstream (`before`) or downstream (`after`). */
export type Side = 'before' | 'after';

/** A request of the reader for more neighbours of a node. */
export interface Growth {
  id: string;
  side: Side;
}

/** The largest number of hops to draw on each side. Two hops lead from a dataset to the next. */
export type Depth = Partial<Record<Side, number>>;

/** Numbers of neighbours that are not drawn. */
export type Neighbours = Record<Side, number>;

/** The largest drawing for readers who did not ask for more. */
export const MAX_CARDS = 150;
/** The largest drawing that a browser can handle. From far away, it is a picture. */
export const MOST_CARDS = 1000;
export const FIRST_CARDS = 40;
const GROWTH_CARDS = 20;
const NO_DEPTH: Depth = {};
export const SIDES: readonly Side[] = ['before', 'after'];

type Adjacency = Record<Side, ReadonlyMap<string, readonly string[]>>;

export interface Extent {
  growth?: readonly Growth[];
  depth?: Depth;
  /** Number of cards before any growth. */
  first?: number;
}

/** Ids of the nodes to draw: the `seeds`, the nodes nearest to them, the growth that the reader asked for, and the boxes around them. */
export function selectNeighbourhood(flow: Flow, seeds: readonly string[], extent: Extent = {}): Set<string> {
  const { growth = [], depth = NO_DEPTH, first = FIRST_CARDS } = extent;
  const adjacency = makeAdjacency(flow.links);
  const nodes = new Map(flow.nodes.map((node) => [node.id, node]));
  const near = depth.before === undefined && depth.after === undefined ? nodes : nodesWithin(seeds, adjacency, depth);
  const selection = selectNearest((id) => nodes.has(id) && near.has(id), adjacency, seeds, first);
  for (const { id, side } of growth) {
    const node = nodes.get(id);
    if (!node || !selection.has(id)) continue;
    const max = Math.min(Math.max(MAX_CARDS, first), selection.size + GROWTH_CARDS);
    const steps = isData(node) ? stepsFrom([id], adjacency[side]) : [adjacency[side].get(id) ?? []];
    for (const step of steps) addUpTo(max, selection, step);
  }
  for (const id of selection) {
    const parent = nodes.get(id)?.parent;
    if (parent !== undefined && nodes.has(parent)) selection.add(parent); // the loop also visits new members
  }
  return selection;
}

/** The nodes within a number of hops before and after the seeds. */
function nodesWithin(seeds: readonly string[], adjacency: Adjacency, depth: Depth): Set<string> {
  const all = new Set(seeds);
  for (const side of SIDES) {
    const reached = new Set(seeds);
    let front: readonly string[] = seeds;
    for (let hop = 0; front.length > 0 && hop < (depth[side] ?? Number.POSITIVE_INFINITY); hop++) {
      front = [...new Set(front.flatMap((id) => adjacency[side].get(id) ?? []))].filter((id) => !reached.has(id));
      for (const id of front) reached.add(id);
    }
    for (const id of reached) all.add(id);
  }
  return all;
}

/**
 * Add ring after ring: the jobs next to a dataset together with their datasets, upstream and downstream by turns. A large first ring is
 * cut. A later ring is added only if it fits completely. A drawing therefore ends after a complete hop.
 */
function selectNearest(
  isDrawable: (id: string) => boolean,
  adjacency: Adjacency,
  seeds: readonly string[],
  first: number,
): Set<string> {
  const selection = new Set(seeds.filter(isDrawable).slice(0, MAX_CARDS));
  const max = Math.max(first, selection.size);
  let fronts: Record<Side, string[]> = { before: [...selection], after: [...selection] };
  for (let ring = 0; fronts.before.length + fronts.after.length > 0; ring++) {
    const steps = {
      before: stepsFrom(fronts.before, adjacency.before).map((step) => step.filter(isDrawable)),
      after: stepsFrom(fronts.after, adjacency.after).map((step) => step.filter(isDrawable)),
    };
    const fresh = new Set([...steps.before, ...steps.after].flat().filter((id) => !selection.has(id)));
    if (ring > 0 && selection.size + fresh.size > max) break;
    const next: Record<Side, string[]> = { before: [], after: [] };
    for (let turn = 0; turn < Math.max(steps.before.length, steps.after.length); turn++)
      for (const side of SIDES) next[side].push(...addUpTo(max, selection, steps[side][turn] ?? []));
    fronts = next;
  }
  return selection;
}

/** A step is a neighbour together with its own neighbours, because a job without its datasets says little. */
function stepsFrom(nodes: readonly string[], next: ReadonlyMap<string, readonly string[]>): string[][] {
  return nodes.flatMap((id) => (next.get(id) ?? []).map((near) => [near, ...(next.get(near) ?? [])]));
}

/** Add ids until the selection has `max` members. Return the new members. */
function addUpTo(max: number, selection: Set<string>, ids: readonly string[]): string[] {
  const fresh = [...new Set(ids)].filter((id) => !selection.has(id)).slice(0, Math.max(0, max - selection.size));
  for (const id of fresh) selection.add(id);
  return fresh;
}

/** Count the neighbours outside the selection, for each node that has any. */
export function countNeighbours(
  links: readonly Omit<FlowLink, 'id'>[],
  selection: ReadonlySet<string>,
): Map<string, Neighbours> {
  const adjacency = makeAdjacency(links);
  const counts = new Map<string, Neighbours>();
  for (const id of selection) {
    const count = (side: Side) =>
      new Set((adjacency[side].get(id) ?? []).filter((other) => !selection.has(other))).size;
    const neighbours = { before: count('before'), after: count('after') };
    if (neighbours.before || neighbours.after) counts.set(id, neighbours);
  }
  return counts;
}

function makeAdjacency(links: readonly Omit<FlowLink, 'id'>[]): Adjacency {
  const collect = (key: 'src' | 'dst', value: 'src' | 'dst') => {
    const adjacency = new Map<string, string[]>();
    for (const link of links) {
      const [near, far] = [ownerOf(link[key]), ownerOf(link[value])];
      const list = adjacency.get(near);
      if (list) list.push(far);
      else adjacency.set(near, [far]);
    }
    return adjacency;
  };
  return { before: collect('dst', 'src'), after: collect('src', 'dst') };
}
