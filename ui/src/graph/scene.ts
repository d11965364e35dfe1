import type { Box } from './box';
import { type ColumnLink, columnLinks } from './columns';
import type { Flow, FlowNode } from './flow';
import { columnId } from './ids';
import { layOut } from './layout';
import type { Highlight } from './path';
import type { LineageGraph } from './types';

/** A line inside an opened node: a column of a dataset, an operation of a job. */
export interface Line {
  key: string;
  text: string;
  /** Shown apart, at the right: a column's type. */
  note?: string | undefined;
  /** Whether the trace goes through it. */
  traced: boolean;
  /** Whether it is a column by which rows are joined or grouped. */
  isKey?: boolean;
}

export interface SceneNode extends Box {
  node: FlowNode;
  x: number;
  y: number;
  open: boolean;
  lines: Line[];
  /** Lines that had no room. */
  more: number;
  /** Whether its lines are on their way. */
  isPending: boolean;
  state: 'traced' | 'plain' | 'dim';
  coarse: boolean;
}

export interface SceneLink {
  id: string;
  src: string;
  dst: string;
  /** Ids of the columns, for a link between columns. */
  srcColumn?: string;
  dstColumn?: string;
  state: 'traced' | 'plain' | 'dim';
  coarse: boolean;
}

export interface Scene {
  nodes: SceneNode[];
  links: SceneLink[];
  width: number;
  height: number;
}

export interface SceneInput {
  flow: Flow;
  /** Where links between columns are found. */
  graph: LineageGraph;
  /** Ids of the opened nodes. */
  open: ReadonlySet<string>;
  /** What an opened node shows; undefined while it is on its way. */
  linesOf: (node: FlowNode) => readonly Line[] | undefined;
  /** The trace's way; none: nothing is dimmed. */
  highlight?: Highlight | undefined;
  /** Ids of the columns that the trace goes through. */
  tracedColumns: ReadonlySet<string>;
}

export const LINE_HEIGHT = 22;
export const HEAD_HEIGHT = 50;
const FOOT = 8;
const MOST_LINES = 14;
const FIRST_LINE = HEAD_HEIGHT + 2 + LINE_HEIGHT / 2;
const WIDTH = { DATASET: { closed: 184, open: 224 }, JOB: { closed: 170, open: 264 } } as const;

/** Everything that is to be drawn, in its place. Nodes come in the order of reading: from left to right, from top to bottom. */
export function sceneOf(input: SceneInput): Scene {
  const shapes = input.flow.nodes.map((node) => shapeOf(node, input));
  const { boxes, width, height } = layOut(shapes, input.flow.links);
  const nodes = shapes.map((shape) => {
    const { x, y } = boxes.get(shape.id) ?? { x: 0, y: 0 };
    return { ...shape, x, y };
  });
  nodes.sort((a, b) => a.x - b.x || a.y - b.y);
  return { nodes, links: [...flowLinks(input), ...linksOfColumns(input, nodes)], width, height };
}

/** Where links end at a card: in the middle of its head, and of each of its lines (`ids`), from the upper edge. */
export function anchorsOf(ids: readonly string[]): { id: string; y: number }[] {
  return [{ id: '', y: HEAD_HEIGHT / 2 - 1 }, ...ids.map((id, index) => ({ id, y: FIRST_LINE + index * LINE_HEIGHT }))];
}

/** How high a card of so many lines is. */
export function heightOf(lines: number): number {
  return HEAD_HEIGHT + (lines > 0 ? lines * LINE_HEIGHT + FOOT : 0);
}

/** As many lines as a card has room for, in their order; those that are traced are never the ones left out. */
export function withRoom<Item extends { traced?: boolean }>(lines: readonly Item[]): Item[] {
  let room = MOST_LINES - lines.filter((line) => line.traced).length;
  return lines.filter((line) => line.traced || room-- > 0);
}

/** Keys before values, each in their order. */
export function keysFirst<Item extends { isKey?: boolean }>(lines: readonly Item[]): Item[] {
  return [...lines.filter((line) => line.isKey), ...lines.filter((line) => !line.isKey)];
}

/** Open what is closed, close what is open. */
export function toggled(open: ReadonlySet<string>, id: string): Set<string> {
  const next = new Set(open);
  if (!next.delete(id)) next.add(id);
  return next;
}

function shapeOf(node: FlowNode, { open, linesOf, highlight }: SceneInput): Omit<SceneNode, 'x' | 'y'> {
  const isOpen = open.has(node.id);
  const known = isOpen ? linesOf(node) : [];
  const all = known ?? [];
  const lines = withRoom(all);
  const more = all.length - lines.length;
  return {
    id: node.id,
    node,
    width: WIDTH[node.kind][isOpen ? 'open' : 'closed'],
    height: heightOf(isOpen ? Math.max(1, lines.length + Math.min(1, more)) : 0),
    open: isOpen,
    lines,
    more,
    isPending: known === undefined,
    state: stateOf(highlight?.nodes, node.id),
    coarse: highlight?.coarse.has(node.id) ?? false,
  };
}

function flowLinks({ flow, highlight }: SceneInput): SceneLink[] {
  return flow.links.map((link) => ({
    ...link,
    state: stateOf(highlight?.links, link.id),
    coarse: highlight?.coarse.has(link.id) ?? false,
  }));
}

/** Only columns whose lines are in sight can be joined. */
function linksOfColumns({ graph, open, tracedColumns }: SceneInput, nodes: readonly SceneNode[]): SceneLink[] {
  const inSight = new Set(
    nodes
      .filter((node) => node.node.kind === 'DATASET')
      .flatMap(({ id, lines }) => lines.map((line) => columnId(id, line.key))),
  );
  const drawn = columnLinks(graph, open).filter(
    (link) => link.direct && inSight.has(link.src) && inSight.has(link.dst),
  );
  return drawn.map((link: ColumnLink) => ({
    id: link.id,
    src: link.srcDataset,
    dst: link.dstDataset,
    srcColumn: link.src,
    dstColumn: link.dst,
    state: tracedColumns.has(link.src) && tracedColumns.has(link.dst) ? 'traced' : 'plain',
    coarse: false,
  }));
}

function stateOf(highlighted: ReadonlySet<string> | undefined, id: string): 'traced' | 'plain' | 'dim' {
  if (!highlighted) return 'plain';
  return highlighted.has(id) ? 'traced' : 'dim';
}
