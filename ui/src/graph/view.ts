import type { NodeKind } from '../api/generated/graphql';
import { type Flow, type FlowNode, linkId } from './flow';
import { datasetOfColumn } from './ids';
import { pathOf } from './names';
import type { GraphNode } from './types';

type Container = Pick<GraphNode, 'id' | 'kind' | 'name'>;

/** A visible node in the service's answer. */
export interface ViewNode {
  node: Container & { containers: readonly Container[]; unwritten?: boolean };
  members: number;
  distance: number;
  focus: boolean;
  upstream: boolean;
  downstream: boolean;
  wholly: boolean;
}

/** A link between visible nodes in the service's answer. `via` counts the hidden nodes on it; null means that there are many. */
export interface ViewLink {
  src: string;
  dst: string;
  weight: number;
  direct: boolean;
  via: number | null;
  former?: boolean;
}

export interface ViewOptions {
  /** Ids of the containers whose content is drawn. */
  open?: Iterable<string>;
  /** The maximum distance of a node, in hops. */
  depth?: number;
}

/** The drawing of a view. The columns of a dataset share one card, and the content of an open container is inside its box. */
export function flowOfView(
  nodes: readonly ViewNode[],
  links: readonly ViewLink[],
  { open = [], depth = Number.POSITIVE_INFINITY }: ViewOptions = {},
): Flow {
  const columns = Map.groupBy(
    nodes.filter(({ node }) => node.kind === 'COLUMN'),
    ({ node }) => datasetOfColumn(node.id),
  );
  const others = nodes.filter(({ node }) => node.kind !== 'COLUMN' && !columns.has(node.id));
  const opened = new Set(open);
  const cards = [
    ...[...columns].map(([id, own]) =>
      columnCard(
        id,
        own,
        nodes.some(({ node }) => node.id === id),
        opened,
        depth,
      ),
    ),
    ...others.map((each) => card(each, opened, depth)),
  ];
  return {
    nodes: [...addBoxes(cards, opened)],
    links: links.map(({ src, dst, weight, via, direct, former = false }) => ({
      id: linkId(src, dst),
      src,
      dst,
      weight,
      via,
      isHidden: !direct,
      isFormer: former,
    })),
  };
}

function card(
  { node, members, focus, wholly, ...place }: ViewNode,
  open: ReadonlySet<string>,
  depth: number,
): FlowNode {
  const { id, kind, name, containers, unwritten } = node;
  return {
    id,
    kind,
    name,
    containers,
    parent: parentOf(containers, open),
    members,
    isFocus: focus,
    isMixed: !wholly,
    isUnwritten: unwritten ?? false,
    cut: cutOf(place, depth),
  };
}

function columnCard(
  id: string,
  columns: readonly ViewNode[],
  hasNode: boolean,
  open: ReadonlySet<string>,
  depth: number,
): FlowNode {
  const containers = (columns[0]?.node.containers ?? []).filter((container) => container.id !== id);
  const nearest = columns.reduce((a, b) => (a.distance <= b.distance ? a : b));
  return {
    id,
    kind: 'DATASET',
    name: pathOf(id),
    containers,
    parent: parentOf(containers, open),
    isFocus: columns.some(({ focus }) => focus),
    isMixed: columns.some(({ wholly }) => !wholly),
    columns: columns.map(({ node }) => node.id),
    count: columns.length + (hasNode ? 1 : 0),
    cut: cutOf(nearest, depth),
  };
}

/** A node at the maximum distance may have more links on the side away from the focus. */
function cutOf(
  { distance, upstream, downstream }: Pick<ViewNode, 'distance' | 'upstream' | 'downstream'>,
  depth: number,
) {
  const isLast = distance >= depth;
  return { before: isLast && upstream, after: isLast && downstream };
}

function parentOf(containers: readonly Container[], open: ReadonlySet<string>): string | undefined {
  return containers.find(({ id }) => open.has(id))?.id;
}

/** Add a box for each open container that has content in the drawing. */
function addBoxes(cards: readonly FlowNode[], open: ReadonlySet<string>): Iterable<FlowNode> {
  const nodes = new Map(cards.map((each) => [each.id, each]));
  for (const { containers = [] } of cards) {
    for (const [index, container] of containers.entries()) {
      if (!open.has(container.id) || nodes.has(container.id)) continue;
      const around = containers.slice(index + 1);
      nodes.set(container.id, { ...container, containers: around, parent: parentOf(around, open), count: 0 });
    }
  }
  return nodes.values();
}

const FINER: Partial<Record<NodeKind, NodeKind>> = {
  DATA: 'DATASET',
  PLATFORM: 'DATASET',
  DATASET: 'VERSION',
  VERSION: 'PARTITION',
  SYSTEM: 'PIPELINE',
  ACTOR: 'PIPELINE',
  PIPELINE: 'JOB',
  JOB: 'RUN',
  RUN: 'STAGE',
  STAGE: 'TASK',
  // On the map of the lake, they are groups of datasets.
  OWNER: 'DATASET',
  TAG: 'DATASET',
  TERM: 'DATASET',
};

/** The level at which the content of a node is drawn inside it, undefined at the finest level. */
export function finerLevel(kind: NodeKind): NodeKind | undefined {
  return FINER[kind];
}
