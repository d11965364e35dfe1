/**
 * The model of a drawing. A `Draft` holds the cards and links to draw, of `draft.ts`.
 * `makeScene` fills the open cards with lines, and places everything.
 */
import type { NodeKind } from '../api/generated/graphql';
import { linkKey, type PlacedBox, type Point } from './boxes';
import { isDirect, keyColumns } from './columns';
import type { Change } from './flow';
import { datasetOfColumn, nameOfColumn } from './ids';
import type { Neighbours } from './neighbourhood';
import { type NestedBox, placeNested } from './room';
import type { GraphEdge } from './types';

export type State = 'traced' | 'plain' | 'dim';

export interface Card {
  id: string;
  kind: NodeKind;
  title: string;
  caption: string;
  /** The full name. */
  name: string;
  isFocus: boolean;
  /** Whether other cards are drawn inside. */
  isBox?: boolean;
  /** Whether nothing can be drawn inside. */
  isLeaf?: true;
  /** Id of the box around the card. */
  parent?: string;
  /** The sides on which the limit of the depth cut its links off. */
  cut?: { before: boolean; after: boolean };
  /** Ids of the columns that a view lists for a dataset. A card with columns is always open. */
  columns?: readonly string[];
  state?: State;
  /** Whether the trace crosses it at a coarser grain than the record. */
  isCoarse?: boolean;
  /** Whether a path through it may mix data of different origins. */
  isMixed?: boolean;
  /** How it differs from an earlier time. */
  change?: Change;
}

export interface Link {
  id: string;
  /** Ids of cards, or of columns. */
  src: string;
  dst: string;
  label?: string;
  /** Number of flows between the members of the ends. */
  weight?: number;
  /** Whether only the rows of the target depend on the source, and no value. */
  isIndirect?: boolean;
  /** Whether it leads through hidden nodes. */
  isHidden?: boolean;
  /** Whether its jobs have given it up. */
  isFormer?: boolean;
  /** How it differs from an earlier time. */
  change?: Change;
  state?: State;
  isCoarse?: boolean;
}

export interface Draft {
  cards: readonly Card[];
  links: readonly Link[];
  /** Number of neighbours that are not drawn, by the id of the card. */
  neighbours?: ReadonlyMap<string, Neighbours>;
}

/** A line in an open card: a column of a dataset, or an operation of a job. `makeScene` marks traced columns and keys. */
export interface Line {
  /** The id of the column, or the position of the operation. */
  key: string;
  text: string;
  /** The type of a column, at the right edge. */
  note?: string;
  isTraced?: boolean;
  /** Whether jobs join or group rows by this column. */
  isKey?: boolean;
}

export interface SceneCard extends Card, PlacedBox {
  /** The lines behind the arrow of the card. Cards of other kinds have no arrow. */
  content: 'columns' | 'operations' | undefined;
  isOpen: boolean;
  lines: Line[];
  /** Number of lines for which the card has no space. */
  rest: number;
  isPending: boolean;
  neighbours: Neighbours | undefined;
}

export interface SceneLink extends Link {
  srcCard: string;
  dstCard: string;
  /** The points that the link passes on its way around other cards. */
  route?: readonly Point[];
}

export interface Scene {
  cards: SceneCard[];
  links: SceneLink[];
  width: number;
  height: number;
}

export interface SceneInput {
  draft: Draft;
  /** Ids of the open cards. */
  open?: ReadonlySet<string>;
  /** Lines by the id of the open card. A card without an entry is still loading. */
  lines?: ReadonlyMap<string, readonly Line[]>;
  /** Links between columns. */
  derivations?: readonly GraphEdge[];
  tracedColumns?: ReadonlySet<string>;
}

export const LINE_HEIGHT = 22;
export const HEAD_HEIGHT = 50;
const FOOT = 8;
const MAX_LINES = 14;
const FIRST_LINE = HEAD_HEIGHT + 2 + LINE_HEIGHT / 2;
const WIDTH = { columns: { closed: 190, open: 236 }, operations: { closed: 190, open: 264 } } as const;
const PLAIN_WIDTH = 196;
const NOTHING: ReadonlySet<string> = new Set();

/** Cards are in reading order: from left to right, then from top to bottom. */
export function makeScene(input: SceneInput): Scene {
  const keys = keyColumns(input.derivations ?? []);
  const mark = (line: Line) => ({
    ...line,
    isKey: keys.has(line.key),
    isTraced: input.tracedColumns?.has(line.key) ?? false,
  });
  const shapes = input.draft.cards.map((card) => shapeCard(card, linesOf(card, input)?.map(mark), input));
  const owners = new Map<string, string>(shapes.map(({ id }) => [id, id]));
  for (const { id, content, lines } of shapes)
    if (content !== 'operations') for (const line of lines) owners.set(line.key, id);
  const links = input.draft.links.flatMap((link) => attach(link, owners));
  const pairs = new Map(
    links
      .filter(({ srcCard, dstCard }) => srcCard !== dstCard)
      .map(({ srcCard, dstCard }) => [`${srcCard} ${dstCard}`, { src: srcCard, dst: dstCard }]),
  );
  const { boxes, routes, width, height } = placeNested(shapes, [...pairs.values()]);
  const cards = shapes.map(({ closed: _, ...shape }) => ({
    ...shape,
    ...(boxes.get(shape.id) ?? { x: 0, y: 0, width: shape.width, height: shape.height }),
  }));
  cards.sort((a, b) => a.x - b.x || a.y - b.y);
  const indirect = indirectLinks(input.derivations ?? []);
  const all = [...links, ...linkColumns(input, owners)].map((each) => {
    const link = indirect.has(each.id) ? { ...each, isIndirect: true } : each;
    const route = routes.get(linkKey({ src: link.srcCard, dst: link.dstCard }));
    return route ? { ...link, route } : link;
  });
  return { cards, links: all, width, height };
}

function attach(link: Link, owners: ReadonlyMap<string, string>): SceneLink[] {
  const [srcCard, dstCard] = [owners.get(link.src), owners.get(link.dst)];
  return srcCard !== undefined && dstCard !== undefined ? [{ ...link, srcCard, dstCard }] : [];
}

function linesOf({ id, columns }: Card, { lines }: SceneInput): readonly Line[] | undefined {
  return columns?.map((column) => ({ key: column, text: nameOfColumn(column) })) ?? lines?.get(id);
}

function shapeCard(
  card: Card,
  all: readonly Line[] | undefined,
  { draft, open = NOTHING }: SceneInput,
): Omit<SceneCard, 'x' | 'y'> & NestedBox {
  const content = card.columns || card.isBox ? undefined : contentOf(card.kind);
  const isOpen = card.columns !== undefined || (content !== undefined && open.has(card.id));
  const lines = selectLines((isOpen && all) || []);
  const rest = isOpen && all ? all.length - lines.length : 0;
  const size = sizeOf(content, isOpen, lines.length + Math.min(1, rest));
  const kind = contentOf(card.kind);
  const closed = { width: kind ? WIDTH[kind].closed : PLAIN_WIDTH, height: HEAD_HEIGHT };
  return {
    ...card,
    ...size,
    // A card that lists the columns of a view is never closed.
    closed: card.columns ? size : closed,
    content,
    isOpen,
    lines,
    rest,
    isPending: isOpen && all === undefined,
    neighbours: draft.neighbours?.get(card.id),
  };
}

/** The size of a card with a number of lines. */
function sizeOf(content: SceneCard['content'], isOpen: boolean, count: number): { width: number; height: number } {
  const height = isOpen ? HEAD_HEIGHT + Math.max(1, count) * LINE_HEIGHT + FOOT : HEAD_HEIGHT;
  if (content) return { width: WIDTH[content][isOpen ? 'open' : 'closed'], height };
  return { width: isOpen ? WIDTH.columns.open : PLAIN_WIDTH, height };
}

function contentOf(kind: NodeKind): SceneCard['content'] {
  if (kind === 'DATASET') return 'columns';
  return kind === 'JOB' ? 'operations' : undefined;
}

/** Keys first, as many as the card has space for. Traced lines are always included. */
function selectLines(all: readonly Line[]): Line[] {
  let space = MAX_LINES - all.filter((line) => line.isTraced).length;
  const lines = [...all.filter((line) => line.isKey), ...all.filter((line) => !line.isKey)];
  return lines.filter((line) => line.isTraced || space-- > 0);
}

/** Links between columns whose lines are visible, where the draft has none of its own. */
function linkColumns({ draft, derivations = [], tracedColumns }: SceneInput, owners: ReadonlyMap<string, string>) {
  if (draft.cards.some((card) => card.columns)) return [];
  return derivations.flatMap((edge) => {
    const { src, dst, kind } = edge;
    const isIndirect = !isDirect(edge);
    const isTraced = !isIndirect && tracedColumns?.has(src) && tracedColumns.has(dst);
    const state: State = isTraced ? 'traced' : 'plain';
    const link = { id: `${src}→${dst}`, src, dst, state, ...(isIndirect && { isIndirect }) };
    return kind === 'DERIVES' && src !== dst ? attach(link, owners) : [];
  });
}

/** Ids of the links between columns through which no value flows. */
function indirectLinks(derivations: readonly GraphEdge[]): Set<string> {
  const direct = new Set(derivations.filter(isDirect).map(({ src, dst }) => `${src}→${dst}`));
  return new Set(derivations.map(({ src, dst }) => `${src}→${dst}`).filter((id) => !direct.has(id)));
}

export function isColumnLink({ src, dst, srcCard, dstCard }: SceneLink): boolean {
  return src !== srcCard && dst !== dstCard;
}

/** The positions where links end: the middle of the card's head, and of each of its columns. */
export function anchorsOf({ content, lines }: Pick<SceneCard, 'content' | 'lines'>): { id: string; y: number }[] {
  const columns = content === 'operations' ? [] : lines;
  return [
    { id: '', y: HEAD_HEIGHT / 2 - 1 },
    ...columns.map(({ key }, index) => ({ id: key, y: FIRST_LINE + index * LINE_HEIGHT })),
  ];
}

/** A card or a column that the reader selected. */
export interface Subject extends Pick<Card, 'id' | 'kind' | 'title' | 'caption' | 'name' | 'isFocus' | 'isMixed'> {
  card: string;
  /** Whether its path follows links between columns. */
  hasColumnPath: boolean;
  /** Ids of the ends of its links: itself, the columns that a view lists, or the content of a box. */
  ends: ReadonlySet<string>;
}

export function findSubject({ cards }: Scene, id: string): Subject | undefined {
  const exact = cards.find((card) => card.id === id);
  if (exact) {
    const ends = endsOfCard(cards, exact);
    return { ...exact, card: id, ends, hasColumnPath: exact.columns !== undefined };
  }
  const owner = cards.find((card) => card.content !== 'operations' && card.lines.some(({ key }) => key === id));
  if (!owner) return undefined;
  return {
    ...owner,
    id,
    kind: 'COLUMN',
    title: nameOfColumn(id),
    caption: `column of ${owner.title}`,
    card: owner.id,
    hasColumnPath: true,
    ends: new Set([id]),
  };
}

function endsOfCard(cards: readonly SceneCard[], { id, columns = [], isBox }: SceneCard): Set<string> {
  const ends = new Set([id, ...columns]);
  if (!isBox) return ends;
  for (const end of ends) for (const card of cards) if (card.parent === end) ends.add(card.id); // the loop also visits new members
  return ends;
}

/** A link that the reader selected. */
export function findLink({ links }: Scene, id: string): SceneLink | undefined {
  return links.find((link) => link.id === id);
}

/** The links of a subject: the title and side of each other end. */
export function linksOfSubject(scene: Scene, { ends }: Subject) {
  return scene.links
    .filter((link) => ends.has(link.src) !== ends.has(link.dst))
    .map((link) => {
      const isSource = ends.has(link.src);
      return { link, isSource, other: titleOfEnd(scene, isSource ? link.dst : link.src) };
    });
}

export function titleOfEnd({ cards }: Scene, id: string): string {
  const card = cards.find((each) => each.id === id);
  if (card) return card.title;
  const owner = cards.find((each) => each.id === datasetOfColumn(id));
  return owner ? `${nameOfColumn(id)} in ${owner.title}` : id;
}
