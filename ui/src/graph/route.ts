import type { Point } from './boxes';

/** The path of a link from `start` through the points of its route to `end`, and the place of its label. */
export function pathThrough(start: Point, route: readonly Point[], end: Point): { path: string; label: Point } {
  const points = [start, ...route, end];
  const steps = points.slice(1).map((to, index) => {
    const from = points[index] ?? start;
    const middle = (from.x + to.x) / 2;
    return from.y === to.y ? `L${to.x},${to.y}` : `C${middle},${from.y} ${middle},${to.y} ${to.x},${to.y}`;
  });
  const [left = start, right = end] = route;
  const label = { x: (left.x + right.x) / 2, y: (left.y + right.y) / 2 - liftOf(right.x - left.x) };
  return { path: `M${start.x},${start.y} ${steps.join(' ')}`, label };
}

const [SHORT, LIFT] = [90, 12];

/** How far above a link its label is: a label on a short link would hide it. */
export function liftOf(length: number): number {
  return length < SHORT ? LIFT : 0;
}

const LOOP = 40;

/** The path of a link back to a card on its left: below both cards, so that it crosses neither. */
export function loopBelow(start: Point, end: Point): { path: string; label: Point } {
  const low = Math.max(start.y, end.y) + LOOP;
  const middle = { x: (start.x + end.x) / 2, y: low };
  const [right, left] = [start.x + LOOP, end.x - LOOP];
  return {
    path: `M${start.x},${start.y} C${right},${start.y} ${right},${low} ${start.x - LOOP},${low} L${end.x + LOOP},${low} C${left},${low} ${left},${end.y} ${end.x},${end.y}`,
    label: middle,
  };
}

interface RouteLink {
  id: string;
  src: string;
  dst: string;
  srcCard: string;
  dstCard: string;
}

/**
 * Ids of everything upstream and downstream of the `ends`: cards or columns, and links. A path of columns follows links between columns,
 * a path of cards the other links.
 */
export function pathOfEnds(links: readonly RouteLink[], ends: ReadonlySet<string>, isColumn: boolean): Set<string> {
  const own = links.filter((link) => (link.src !== link.srcCard && link.dst !== link.dstCard) === isColumn);
  const path = new Set(ends);
  for (const [near, far] of [
    ['src', 'dst'],
    ['dst', 'src'],
  ] as const) {
    const adjacency = Map.groupBy(own, (link) => link[near]);
    const reached = new Set(ends);
    for (const id of reached) {
      for (const link of adjacency.get(id) ?? []) {
        path.add(link.id);
        path.add(link[far]);
        path.add(near === 'src' ? link.dstCard : link.srcCard);
        reached.add(link[far]); // the loop also visits new members
      }
    }
  }
  return path;
}
