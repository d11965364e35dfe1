import type { Flow, FlowLink } from './flow';

/** The side of a node: upstream (`before`) or downstream (`after`). */
export type Side = 'before' | 'after';

/** A request of the reader for more neighbours of a node. */
export interface Growth {
  id: string;
  side: Side;
}

/** Numbers of neighbours that are not drawn. */
export type Neighbours = Record<Side, number>;

/** The largest drawing that readers and browsers can handle. */
export const MAX_CARDS = 150;
export const FIRST_CARDS = 40;
const GROWTH_CARDS = 20;
export const SIDES: readonly Side[] = ['before', 'after'];

type Adjacency = Record<Side, ReadonlyMap<string, readonly string[]>>;

/** Ids of the nodes to draw: the `seeds`, the nodes nearest to them, and the growth that the reader asked for. */
export function selectNeighbourhood(flow: Flow, seeds: readonly string[], growth: readonly Growth[]): Set<string> {
  const adjacency = makeAdjacency(flow.links);
  const selection = selectNearest(flow, adjacency, seeds);
  for (const { id, side } of growth) {
    if (!selection.has(id)) continue;
    const isJob = flow.nodes.find((node) => node.id === id)?.kind === 'JOB';
    const max = Math.min(MAX_CARDS, selection.size + GROWTH_CARDS);
    const steps = isJob ? [adjacency[side].get(id) ?? []] : stepsFrom([id], adjacency[side]);
    for (const step of steps) addUpTo(max, selection, step);
  }
  return selection;
}

/**
 * Add ring after ring: the jobs next to a dataset together with their datasets, upstream and downstream by turns. A large first ring is
 * cut. A later ring is added only if it fits completely. A drawing therefore ends after a complete hop.
 */
function selectNearest(flow: Flow, adjacency: Adjacency, seeds: readonly string[]): Set<string> {
  const ids = new Set(flow.nodes.map((node) => node.id));
  const selection = new Set(seeds.filter((id) => ids.has(id)).slice(0, MAX_CARDS));
  const max = Math.max(FIRST_CARDS, selection.size);
  let fronts: Record<Side, string[]> = { before: [...selection], after: [...selection] };
  for (let ring = 0; fronts.before.length + fronts.after.length > 0; ring++) {
    const steps = {
      before: stepsFrom(fronts.before, adjacency.before),
      after: stepsFrom(fronts.after, adjacency.after),
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
    const count = (side: Side) => (adjacency[side].get(id) ?? []).filter((other) => !selection.has(other)).length;
    const neighbours = { before: count('before'), after: count('after') };
    if (neighbours.before || neighbours.after) counts.set(id, neighbours);
  }
  return counts;
}

function makeAdjacency(links: readonly Omit<FlowLink, 'id'>[]): Adjacency {
  const collect = (key: 'src' | 'dst', value: 'src' | 'dst') => {
    const adjacency = new Map<string, string[]>();
    for (const link of links) {
      const list = adjacency.get(link[key]);
      if (list) list.push(link[value]);
      else adjacency.set(link[key], [link[value]]);
    }
    return adjacency;
  };
  return { before: collect('dst', 'src'), after: collect('src', 'dst') };
}
