import type { Flow } from './flow';

/** Where a node's neighbours lie: before it, as data flows, or after it. */
export type Side = 'before' | 'after';

/** A node that the reader asked to see more beside. */
export interface Growth {
  id: string;
  side: Side;
}

/** Neighbours of a node that are not drawn. */
export interface Hidden {
  before: number;
  after: number;
}

/** No drawing holds more boxes: neither a reader nor a browser could follow it. */
export const MOST_BOXES = 150;
/** A drawing begins with no more. */
export const FIRST_BOXES = 40;
/** One step of growth adds no more. */
const GROWN_BOXES = 20;
const SIDES: readonly Side[] = ['before', 'after'];

type Ends = Pick<Flow['links'][number], 'src' | 'dst'>;
type Beside = Record<Side, ReadonlyMap<string, readonly string[]>>;

/**
 * What is drawn of a lineage: `seeds` and the nearest around them, and what the reader let grow beside single nodes.
 * A node that the flow does not hold is never drawn.
 */
export function neighbourhood(flow: Flow, seeds: readonly string[], grown: readonly Growth[]): Set<string> {
  const beside = besideOf(flow.links);
  const shown = openAround(flow, beside, seeds);
  for (const growth of grown) grow(flow, beside, shown, growth);
  return shown;
}

/**
 * Ring by ring: the jobs beside a dataset with their datasets beyond, before and after by turns. The first ring is cut where it is large;
 * a further one is taken only where all of it has room, so that a small lineage is drawn whole and a large one stops at a whole hop.
 */
function openAround(flow: Flow, beside: Beside, seeds: readonly string[]): Set<string> {
  const known = new Set(flow.nodes.map((node) => node.id));
  const shown = new Set(seeds.filter((id) => known.has(id)).slice(0, MOST_BOXES));
  const room = Math.max(FIRST_BOXES, shown.size);
  let fronts: Record<Side, string[]> = { before: [...shown], after: [...shown] };
  for (let ring = 0; fronts.before.length + fronts.after.length > 0; ring++) {
    const steps = { before: stepsFrom(fronts.before, beside.before), after: stepsFrom(fronts.after, beside.after) };
    const fresh = new Set([...steps.before, ...steps.after].flat().filter((id) => !shown.has(id)));
    if (ring > 0 && shown.size + fresh.size > room) break;
    const next: Record<Side, string[]> = { before: [], after: [] };
    for (let turn = 0; turn < Math.max(steps.before.length, steps.after.length); turn++)
      for (const side of SIDES) next[side].push(...take(shown, steps[side][turn] ?? [], room));
    fronts = next;
  }
  return shown;
}

/** The steps on from some nodes: each neighbour with those beyond it, since a job alone says little. */
function stepsFrom(nodes: readonly string[], next: ReadonlyMap<string, readonly string[]>): string[][] {
  return nodes.flatMap((id) => (next.get(id) ?? []).map((near) => [near, ...(next.get(near) ?? [])]));
}

/** Adds as many as there is room for; returns those that were added. */
function take(shown: Set<string>, wanted: readonly string[], room: number): string[] {
  const fresh = [...new Set(wanted)].filter((id) => !shown.has(id)).slice(0, Math.max(0, room - shown.size));
  for (const id of fresh) shown.add(id);
  return fresh;
}

/** Adds the neighbours of a node on one side: beyond a dataset its jobs with their datasets, beyond a job its datasets. */
function grow(flow: Flow, beside: Beside, shown: Set<string>, { id, side }: Growth): void {
  if (!shown.has(id)) return;
  const isJob = flow.nodes.find((node) => node.id === id)?.kind === 'JOB';
  const room = Math.min(MOST_BOXES, shown.size + GROWN_BOXES);
  for (const step of isJob ? [beside[side].get(id) ?? []] : stepsFrom([id], beside[side])) take(shown, step, room);
}

/** How many neighbours of each drawn node are not drawn, where there are any. */
export function hiddenBeside(links: readonly Ends[], shown: ReadonlySet<string>): Map<string, Hidden> {
  const beside = besideOf(links);
  const hidden = new Map<string, Hidden>();
  for (const id of shown) {
    const [before, after] = SIDES.map(
      (side) => (beside[side].get(id) ?? []).filter((other) => !shown.has(other)).length,
    );
    if (before || after) hidden.set(id, { before: before ?? 0, after: after ?? 0 });
  }
  return hidden;
}

function besideOf(links: readonly Ends[]): Beside {
  const beside = { before: new Map<string, string[]>(), after: new Map<string, string[]>() };
  const add = (side: Side, id: string, other: string) => {
    const known = beside[side].get(id);
    if (known) known.push(other);
    else beside[side].set(id, [other]);
  };
  for (const { src, dst } of links) {
    add('after', src, dst);
    add('before', dst, src);
  }
  return beside;
}
