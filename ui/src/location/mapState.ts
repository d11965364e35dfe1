/** The part of the address that belongs to the map of the whole lake. */

export const LENSES = ['NAMESPACE', 'PIPELINE', 'OWNER', 'TAG', 'TERM'] as const;
export type MapLens = (typeof LENSES)[number];

/** An open group: the number of its heaviest members that are drawn, and the members that the reader searched for. */
export interface OpenGroup {
  id: string;
  first: number;
  found: readonly string[];
}

export interface MapState {
  lens: MapLens;
  /** Number of groups to draw, the largest first. */
  groups: number;
  /** Ids of groups that the reader searched for. */
  include: readonly string[];
  open: readonly OpenGroup[];
}

export const FIRST_GROUPS = 100;
export const FIRST_MEMBERS = 50;
/** Groups, and members of one group, that are drawn at most. A search finds the others. */
export const [MOST_GROUPS, MOST_MEMBERS] = [1000, 400];
const MOST_INCLUDED = 100;

export const WHOLE_LAKE: MapState = { lens: 'NAMESPACE', groups: FIRST_GROUPS, include: [], open: [] };

const OPEN = /^(\d+) (.+)$/;

export function parseMap(query: URLSearchParams): MapState | undefined {
  if (query.get('page') !== 'map') return undefined;
  const lens = LENSES.find((each) => each === query.get('lens')?.toUpperCase()) ?? WHOLE_LAKE.lens;
  const found = query.getAll('member').flatMap((text) => {
    const [, index, id] = OPEN.exec(text) ?? [];
    return id ? [{ index: Number(index), id }] : [];
  });
  const open = query.getAll('group').flatMap((text, index): OpenGroup[] => {
    const [, first, id] = OPEN.exec(text) ?? [];
    if (!id) return [];
    const own = found.filter((each) => each.index === index).map((each) => each.id);
    return [{ id, first: clamp(Number(first), 1, MOST_MEMBERS), found: [...new Set(own)] }];
  });
  const groups = clamp(Number.parseInt(query.get('groups') ?? '', 10) || FIRST_GROUPS, 1, MOST_GROUPS);
  return { lens, groups, include: query.getAll('include').slice(0, MOST_INCLUDED), open };
}

export function formatMap({ lens, groups, include, open }: MapState, query: URLSearchParams): void {
  if (lens !== WHOLE_LAKE.lens) query.set('lens', lens.toLowerCase());
  if (groups !== FIRST_GROUPS) query.set('groups', String(groups));
  for (const id of include) query.append('include', id);
  for (const { id, first } of open) query.append('group', `${first} ${id}`);
  for (const [index, { found }] of open.entries()) for (const id of found) query.append('member', `${index} ${id}`);
}

export function openGroup(map: MapState, id: string): MapState {
  if (map.open.some((group) => group.id === id)) return map;
  return { ...map, open: [...map.open, { id, first: FIRST_MEMBERS, found: [] }] };
}

export function closeGroup(map: MapState, id: string): MapState {
  return { ...map, open: map.open.filter((group) => group.id !== id) };
}

/** Draw more of the heaviest members of an open group. */
export function moreMembers(map: MapState, id: string): MapState {
  const grow = (first: number) => clamp(first + FIRST_MEMBERS, 1, MOST_MEMBERS);
  return { ...map, open: map.open.map((group) => (group.id === id ? { ...group, first: grow(group.first) } : group)) };
}

/** Draw a member of a group that the reader searched for. */
export function addMember(map: MapState, id: string, member: string): MapState {
  const add = (group: OpenGroup) =>
    group.id === id ? { ...group, found: [...new Set([...group.found, member])] } : group;
  return { ...map, open: map.open.map(add) };
}

/** Draw a group that the reader searched for. */
export function includeGroup(map: MapState, id: string): MapState {
  return { ...map, include: [...new Set([...map.include, id])].slice(-MOST_INCLUDED) };
}

export function moreGroups(map: MapState): MapState {
  return { ...map, groups: clamp(map.groups + FIRST_GROUPS, 1, MOST_GROUPS) };
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
