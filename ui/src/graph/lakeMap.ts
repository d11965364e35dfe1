/** The drawing of a whole lake: groups as cards, open groups as boxes with their heaviest members, and the heaviest flows. */
import type { NodeKind } from '../api/generated/graphql';
import { MOST_GROUPS, MOST_MEMBERS } from '../location/mapState';
import { jobWords, shortNames } from './names';
import type { Card, Draft, Link } from './scene';

export interface MapNode {
  id: string;
  kind: NodeKind;
  name: string;
}

export interface MapGroup {
  node: MapNode;
  members: number;
  toRest: number;
  fromRest: number;
}

export interface MapFlow {
  src: string;
  dst: string;
  weight: number;
}

/** The members of an open group that are drawn. */
export interface OpenMembers {
  id: string;
  members: readonly MapNode[];
}

export interface LakeMapParts {
  groups: readonly MapGroup[];
  flows: readonly MapFlow[];
  /** Number of all groups. */
  total: number;
  open: readonly OpenMembers[];
  /** The flows of the drawn members. An end is a member or a group. */
  memberFlows: readonly MapFlow[];
  /** Drawn members whose flows are not among these. */
  withoutFlows?: ReadonlySet<string>;
  /** Whether the groups are of jobs. */
  isOfJobs: boolean;
}

export interface MapDraft extends Draft {
  /** Number of flows between drawn cards that are not drawn. */
  hidden: number;
}

/** Id of the card for all groups that are not drawn. */
export const REST = 'rest';
const MORE = 'more:';
/** The heaviest flow of each card on each side is drawn, and about as many of all flows as there are cards. */
const OWN_FLOWS = 1;
const [LEAST_FLOWS, FLOWS_PER_CARD] = [60, 1.2];
/** Labels of more links would cover the drawing. */
const LABELLED = 40;
const MANY = new Intl.NumberFormat('en');

/** The group of a card for the members that are not drawn. */
export function groupOfMore(id: string): string | undefined {
  return id.startsWith(MORE) ? id.slice(MORE.length) : undefined;
}

export function makeMapDraft(parts: LakeMapParts): MapDraft {
  const { groups, total, open, isOfJobs } = parts;
  const word = isOfJobs ? 'job' : 'dataset';
  const datasets = open.flatMap(({ members }) => members).filter(({ kind }) => kind === 'DATASET');
  const titles = shortNames(datasets.map(({ id, name }) => [id, name]));
  const byGroup = new Map(open.map((each) => [each.id, each.members]));
  const cards: Card[] = [];
  const drawn = new Set<string>();
  for (const { node, members } of groups) {
    const shown = byGroup.get(node.id);
    cards.push({
      ...node,
      title: titleOf(node, titles),
      caption: count(members, word),
      isFocus: false,
      isBox: shown !== undefined && shown.length > 0,
    });
    drawn.add(node.id);
    // A dataset of two owners is drawn in the first box.
    const own = (shown ?? []).filter(({ id }) => !drawn.has(id));
    for (const member of own) {
      drawn.add(member.id);
      const title = titleOf(member, titles);
      cards.push({ ...member, title, caption: word, isFocus: false, isLeaf: true, parent: node.id });
    }
    if (shown && shown.length > 0 && members > shown.length) {
      const name = count(members - shown.length, `other ${word}`);
      cards.push(moreCard(`${MORE}${node.id}`, node.kind, name, shown.length < MOST_MEMBERS, node.id));
      drawn.add(`${MORE}${node.id}`);
    }
  }
  const [first] = groups;
  if (first && total > groups.length) {
    cards.push(
      moreCard(REST, first.node.kind, count(total - groups.length, 'other group'), groups.length < MOST_GROUPS),
    );
    drawn.add(REST);
  }
  const links = linksOf(parts, drawn);
  const kept = heaviest(links, Math.max(LEAST_FLOWS, FLOWS_PER_CARD * cards.length));
  const isLabelled = kept.length <= LABELLED;
  return {
    cards,
    links: kept.map((link) => (isLabelled ? { ...link, label: labelOf(link.weight ?? 1, isOfJobs) } : link)),
    hidden: links.length - kept.length,
  };
}

/** `12 jobs`: what a flow leads through. */
export function labelOf(weight: number, isOfJobs: boolean): string {
  return count(weight, isOfJobs ? 'dataset' : 'job');
}

function moreCard(id: string, kind: NodeKind, name: string, canGrow: boolean, parent?: string): Card {
  const card = {
    id,
    kind,
    name,
    title: `+ ${name}`,
    caption: canGrow ? 'click to draw more' : 'find one by its name above',
    isFocus: false,
    isLeaf: true,
  } as const;
  return parent === undefined ? card : { ...card, parent };
}

function titleOf({ id, kind, name }: MapNode, titles: ReadonlyMap<string, string>): string {
  return titles.get(id) ?? (kind === 'JOB' ? jobWords(name, '').title : name);
}

function count(number: number, word: string): string {
  return `${MANY.format(number)} ${word}${number === 1 ? '' : 's'}`;
}

function linksOf(parts: LakeMapParts, drawn: ReadonlySet<string>): Link[] {
  const links: Link[] = [];
  for (const { src, dst, weight } of [...drawnFlows(parts, drawn), ...restFlows(parts.groups)])
    if (src !== dst && drawn.has(src) && drawn.has(dst)) links.push({ id: `${src}→${dst}`, src, dst, weight });
  return links;
}

/** A flow of an open group ends at its members. If some are not drawn, the box has the flows of all of them. */
function drawnFlows(
  { flows, memberFlows, open, withoutFlows = new Set() }: LakeMapParts,
  drawn: ReadonlySet<string>,
): MapFlow[] {
  const known = open.filter(({ members }) => members.some(({ id }) => !withoutFlows.has(id)));
  const isOpen = new Set(known.filter(({ members }) => members.length > 0).map(({ id }) => id));
  const isCut = new Set(
    open.filter(({ members }) => members.some(({ id }) => withoutFlows.has(id))).map(({ id }) => id),
  );
  const isWhole = (id: string) =>
    memberFlows.length > 0 && isOpen.has(id) && !isCut.has(id) && !drawn.has(`${MORE}${id}`);
  const between = flows.filter(({ src, dst }) => !isWhole(src) && !isWhole(dst));
  const endOf = (id: string) => (isOpen.has(id) ? `${MORE}${id}` : id);
  const inside = memberFlows.map(({ src, dst, weight }) => ({ src: endOf(src), dst: endOf(dst), weight }));
  return [...between, ...inside];
}

function restFlows(groups: readonly MapGroup[]): MapFlow[] {
  return groups.flatMap(({ node: { id }, toRest, fromRest }) => [
    ...(toRest ? [{ src: id, dst: REST, weight: toRest }] : []),
    ...(fromRest ? [{ src: REST, dst: id, weight: fromRest }] : []),
  ]);
}

/** The heaviest links of each card, and the heaviest of all. */
function heaviest(links: readonly Link[], most: number): Link[] {
  const sorted = links.toSorted((a, b) => (b.weight ?? 1) - (a.weight ?? 1) || (a.id < b.id ? -1 : 1));
  const [outs, ins] = [new Map<string, number>(), new Map<string, number>()];
  return sorted.filter(({ src, dst }, index) => {
    const [out, into] = [outs.get(src) ?? 0, ins.get(dst) ?? 0];
    outs.set(src, out + 1);
    ins.set(dst, into + 1);
    return index < most || out < OWN_FLOWS || into < OWN_FLOWS;
  });
}
