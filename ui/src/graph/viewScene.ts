import type { NodeKind } from '../api/generated/graphql';
import { parseId } from './ids';
import { layOut } from './layout';
import { baseName, jobTitle, shortNames } from './names';

/** A visible node, as the service gives it. */
export interface ShownNode {
  node: { id: string; kind: NodeKind; name: string; containers: readonly { kind: NodeKind; name: string }[] };
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
}

export interface ViewLine {
  id: string;
  src: string;
  dst: string;
  /** What stands at it: via how many hidden nodes, else how many flows it stands for. */
  label: string;
  hidden: boolean;
}

export interface ViewScene {
  nodes: ViewBox[];
  links: ViewLine[];
  width: number;
  height: number;
}

const WIDTH = 196;
const HEIGHT = 50;
const PARTS: ReadonlySet<NodeKind> = new Set<NodeKind>(['VERSION', 'PARTITION']);
const DATA: ReadonlySet<NodeKind> = new Set<NodeKind>(['PLATFORM', 'DATASET', 'VERSION', 'PARTITION', 'COLUMN']);

/** A view in its place, from left to right as data flows; nodes in the order of reading. */
export function viewScene(shown: readonly ShownNode[], links: readonly ShownLink[]): ViewScene {
  const named = shown.filter(({ node }) => DATA.has(node.kind) && !PARTS.has(node.kind));
  const short = shortNames(named.map(({ node }) => [node.id, node.name]));
  const shapes = shown.map(({ node }) => ({ id: node.id, width: WIDTH, height: HEIGHT }));
  const { boxes, width, height } = layOut(shapes, links);
  const nodes = shown.map(({ node, members, focus, wholly }): ViewBox => {
    const { x, y } = boxes.get(node.id) ?? { x: 0, y: 0 };
    const { title, word } = wordsOf(node);
    return {
      id: node.id,
      x,
      y,
      width: WIDTH,
      height: HEIGHT,
      title: short.get(node.id) ?? title,
      caption: captionOf(word, members),
      name: node.name,
      isData: DATA.has(node.kind),
      focus,
      mixes: !wholly,
    };
  });
  nodes.sort((a, b) => a.x - b.x || a.y - b.y);
  return { nodes, links: links.map(lineOf), width, height };
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

function lineOf(link: ShownLink): ViewLine {
  return { id: `${link.src}→${link.dst}`, src: link.src, dst: link.dst, label: labelOf(link), hidden: !link.direct };
}
