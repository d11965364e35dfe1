import type { NodeKind } from '../api/generated/graphql';
import { datasetOfColumn, nameOfColumn, parseId } from './ids';
import { layOut } from './layout';
import { baseName, jobTitle, shortNames } from './names';
import { MOST_BOXES } from './neighbourhood';
import { heightOf, keysFirst, type Line, withRoom } from './scene';

/** A visible node, as the service gives it. */
export interface ShownNode {
  node: {
    id: string;
    kind: NodeKind;
    name: string;
    containers: readonly { kind: NodeKind; name: string }[];
    unwritten?: boolean;
  };
  members: number;
  focus: boolean;
  wholly: boolean;
}

/** A link between visible nodes. */
export interface ShownLink {
  src: string;
  dst: string;
  weight: number;
  direct: boolean;
  via: number | null;
}

export interface ViewBox {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  /** What it is, and how many it stands for. */
  caption: string;
  name: string;
  isData: boolean;
  focus: boolean;
  /** Whether a path drawn through it may be none of data. */
  mixes: boolean;
  /** The columns that are drawn in their dataset, by their id. */
  lines: Line[];
  /** Columns that had no room. */
  more: number;
}

export interface ViewLine {
  id: string;
  src: string;
  dst: string;
  /** The boxes that it joins: of a column its dataset's. */
  srcBox: string;
  dstBox: string;
  /** What stands at it: via how many hidden nodes, else how many flows it stands for. */
  label: string;
  hidden: boolean;
}

export interface ViewScene {
  nodes: ViewBox[];
  links: ViewLine[];
  /** How many of the nodes that were given stand in a box, for themselves, as one of its lines or as one that had no room. */
  drawn: number;
  width: number;
  height: number;
}

const WIDTH = 196;
const PARTS: ReadonlySet<NodeKind> = new Set<NodeKind>(['VERSION', 'PARTITION']);
const DATA: ReadonlySet<NodeKind> = new Set<NodeKind>(['PLATFORM', 'DATASET', 'VERSION', 'PARTITION', 'COLUMN']);

/**
 * A view in its place, from left to right as data flows; nodes in the order of reading. Columns stand in the box of their dataset, those
 * that are `keys` apart from the others. The first `most` boxes are drawn.
 */
export function viewScene(
  shown: readonly ShownNode[],
  links: readonly ShownLink[],
  keys: ReadonlySet<string> = new Set(),
  most = MOST_BOXES,
): ViewScene {
  const cards = cardsOf(shown, keys).slice(0, most);
  const boxOf = new Map(
    cards.flatMap(
      (card) => [[card.id, card.id], ...card.lines.map((line) => [line.key, card.id])] as [string, string][],
    ),
  );
  const drawn = links.flatMap((link) => {
    const [srcBox, dstBox] = [boxOf.get(link.src), boxOf.get(link.dst)];
    return srcBox && dstBox ? [{ ...lineOf(link), srcBox, dstBox }] : [];
  });
  const between = new Map(drawn.map(({ srcBox, dstBox }) => [`${srcBox} ${dstBox}`, { src: srcBox, dst: dstBox }]));
  const { boxes, width, height } = layOut(
    cards,
    [...between.values()].filter(({ src, dst }) => src !== dst),
  );
  const nodes = cards.map((card): ViewBox => {
    const { x, y } = boxes.get(card.id) ?? { x: 0, y: 0 };
    return { ...card, x, y };
  });
  nodes.sort((a, b) => a.x - b.x || a.y - b.y);
  const ids = new Set(cards.map((card) => card.id));
  const inBoxes = shown.filter(({ node }) => ids.has(node.kind === 'COLUMN' ? datasetOfColumn(node.id) : node.id));
  return { nodes, links: drawn, drawn: inBoxes.length, width, height };
}

/** What the details beside a view tell of: a box, or a column within one. */
export interface Named extends Pick<ViewBox, 'id' | 'title' | 'caption' | 'name' | 'focus' | 'mixes'> {
  /** The box that it is, or stands in. */
  box: string;
  /** Ids whose links are its own. */
  ends: ReadonlySet<string>;
}

export function boxNamed(scene: ViewScene, id: string): Named | undefined {
  for (const box of scene.nodes) {
    const line = box.lines.find(({ key }) => key === id);
    if (line)
      return { ...box, id, box: box.id, title: line.text, caption: `column of ${box.title}`, ends: new Set([id]) };
    if (box.id === id) return { ...box, box: id, ends: new Set([id, ...box.lines.map(({ key }) => key)]) };
  }
  return undefined;
}

type Card = Omit<ViewBox, 'x' | 'y'>;

/** A box for each node; for columns one for each dataset. */
function cardsOf(shown: readonly ShownNode[], keys: ReadonlySet<string>): Card[] {
  const columns = shown.filter(({ node }) => node.kind === 'COLUMN');
  const holders = new Map<string, ShownNode[]>();
  for (const column of columns) {
    const dataset = datasetOfColumn(column.node.id);
    holders.set(dataset, [...(holders.get(dataset) ?? []), column]);
  }
  const others = shown.filter(({ node }) => node.kind !== 'COLUMN' && !holders.has(node.id));
  const named = others.filter(({ node }) => DATA.has(node.kind) && !PARTS.has(node.kind));
  const datasets = [...holders.keys()].map((id) => [id, parseId(id).parts.at(-1) ?? id] as const);
  const short = shortNames([...named.map(({ node }) => [node.id, node.name] as const), ...datasets]);
  return [
    ...datasets.map(([id, name]) => columnCard(id, name, short.get(id) ?? name, holders.get(id) ?? [], keys)),
    ...others.map((each) => nodeCard(each, short)),
  ];
}

function nodeCard({ node, members, focus, wholly }: ShownNode, short: ReadonlyMap<string, string>): Card {
  const { title, word } = wordsOf(node);
  return {
    id: node.id,
    width: WIDTH,
    height: heightOf(0),
    title: short.get(node.id) ?? title,
    caption: captionOf(node.unwritten ? `${word}, not written: its runs failed` : word, members),
    name: node.name,
    isData: DATA.has(node.kind),
    focus,
    mixes: !wholly,
    lines: [],
    more: 0,
  };
}

function columnCard(
  id: string,
  name: string,
  title: string,
  columns: readonly ShownNode[],
  keys: ReadonlySet<string>,
): Card {
  const all = columns.map(({ node }) => ({
    key: node.id,
    text: nameOfColumn(node.id),
    traced: false,
    isKey: keys.has(node.id),
  }));
  const lines = withRoom(keysFirst(all));
  const more = all.length - lines.length;
  return {
    id,
    width: WIDTH,
    height: heightOf(lines.length + Math.min(1, more)),
    title,
    caption: `dataset · ${all.length} ${all.length === 1 ? 'column' : 'columns'}`,
    name,
    isData: true,
    focus: columns.some(({ focus }) => focus),
    mixes: columns.some(({ wholly }) => !wholly),
    lines,
    more,
  };
}

/** What a node is called, and what it is: a version, a file or a run by what it is of, since nobody knows it by its number. */
function wordsOf({ id, kind, name, containers }: ShownNode['node']): { title: string; word: string } {
  const { parts } = parseId(id);
  const job = containers.find((container) => container.kind === 'JOB')?.name;
  switch (kind) {
    case 'VERSION':
      return { title: baseName(parts[1] ?? name), word: `version ${tail(name)}` };
    case 'PARTITION': {
      const path = parts[0] ?? name;
      return { title: baseName(path), word: `file in ${baseName(path.slice(0, path.lastIndexOf('/')))}` };
    }
    case 'RUN':
      return job === undefined ? { title: name, word: 'run' } : { title: jobTitle(job), word: `run ${tail(name)}` };
    case 'STAGE':
    case 'TASK':
    case 'OPERATOR':
      return { title: name, word: kind.toLowerCase() + (job === undefined ? '' : ` of ${jobTitle(job)}`) };
    default:
      return { title: jobTitle(name), word: kind.toLowerCase() };
  }
}

/** The end of a run's number: its beginning is the time, which those of one night share. */
function tail(run: string): string {
  return `…${run.slice(-6)}`;
}

/** `platform · 3 inside`; a node that stands for itself alone says what it is. */
export function captionOf(word: string, members: number): string {
  return members > 1 ? `${word} · ${members.toLocaleString('en')} inside` : word;
}

/** What a link says of itself. */
export function labelOf({ weight, via }: Pick<ShownLink, 'weight' | 'via'>): string {
  if (via === null) return 'via many';
  if (via > 0) return `via ${via.toLocaleString('en')}`;
  return weight > 1 ? `${weight.toLocaleString('en')} flows` : '';
}

function lineOf(link: ShownLink): Omit<ViewLine, 'srcBox' | 'dstBox'> {
  return { id: `${link.src}→${link.dst}`, src: link.src, dst: link.dst, label: labelOf(link), hidden: !link.direct };
}
