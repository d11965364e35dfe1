import type { NodeKind } from '../api/generated/graphql';
import { datasetOfColumn } from './ids';
import type { GraphNode, LineageGraph } from './types';

/** A node of a drawing. Only views know more than the first three properties. */
export interface FlowNode {
  id: string;
  kind: NodeKind;
  name: string;
  /** Innermost first. */
  containers?: readonly Pick<GraphNode, 'id' | 'kind' | 'name'>[] | undefined;
  /** Id of the open container that is drawn around the node. */
  parent?: string | undefined;
  /** Number of nodes below it that take part. */
  members?: number;
  /** Ids of the columns that are drawn in the card of a dataset. */
  columns?: readonly string[];
  /** Number of nodes of the answer that the card shows, 1 if it is absent. */
  count?: number;
  isFocus?: boolean;
  /** Whether a path through it may mix data of different origins. */
  isMixed?: boolean;
  /** Whether all runs that were to write it failed. */
  isUnwritten?: boolean;
  /** The side on which the limit of the depth cut its links off. */
  cut?: { before: boolean; after: boolean };
  /** How it differs from an earlier time. */
  change?: Change | undefined;
}

/** The difference to an earlier time: `gone` is drawn, although it is not there any more. */
export type Change = 'added' | 'gone' | 'changed';

export interface FlowLink {
  id: string;
  /** Ids of nodes, or of columns. */
  src: string;
  dst: string;
  /** Number of flows between the members of the ends. */
  weight?: number;
  /** Number of hidden nodes on the link; null means that there are many. */
  via?: number | null;
  /** Whether every path of the link passes hidden nodes. */
  isHidden?: boolean;
  /** Whether its jobs have given it up: a later run stated flows on the same side without it. */
  isFormer?: boolean;
  change?: Change | undefined;
}

/** The nodes of a drawing, and the data flow between them. */
export interface Flow {
  nodes: FlowNode[];
  links: FlowLink[];
}

export const EMPTY_FLOW: Flow = { nodes: [], links: [] };

/** The datasets and jobs of a lineage. */
export function makeFlow(graph: LineageGraph): Flow {
  const nodes = graph.nodes.filter(({ kind }) => kind === 'DATASET' || kind === 'JOB');
  const ids = new Set(nodes.map((node) => node.id));
  const links = new Map<string, FlowLink>();
  for (const { src, dst, kind, former = false } of graph.edges) {
    if ((kind !== 'READS' && kind !== 'WRITES') || !ids.has(src) || !ids.has(dst)) continue;
    const id = linkId(src, dst);
    links.set(id, { id, src, dst, ...(former && { isFormer: true }) });
  }
  return { nodes: nodes.map(({ id, kind, name }) => ({ id, kind, name })), links: [...links.values()] };
}

export function linkId(src: string, dst: string): string {
  return `${src}→${dst}`;
}

/** Merge graphs. A node that is in several graphs keeps its first form. */
export function mergeGraphs(...graphs: LineageGraph[]): LineageGraph {
  const nodes = new Map<string, GraphNode>();
  for (const node of graphs.flatMap((graph) => graph.nodes)) if (!nodes.has(node.id)) nodes.set(node.id, node);
  const edges = new Map(
    graphs.flatMap((graph) => graph.edges).map((edge) => [`${edge.kind} ${edge.src} ${edge.dst}`, edge]),
  );
  return {
    nodes: [...nodes.values()],
    edges: [...edges.values()],
    truncated: Math.max(0, ...graphs.map((graph) => graph.truncated)),
  };
}

/** A flow without its former links. A trace keeps the links on its path, because its records once passed them. */
export function dropFormerLinks({ nodes, links }: Flow, path?: ReadonlySet<string>): Flow {
  return { nodes, links: links.filter(({ id, isFormer }) => !isFormer || path?.has(id)) };
}

/** The nodes with these ids, and the links between them. */
export function restrictFlow(flow: Flow, ids: ReadonlySet<string>): Flow {
  return {
    nodes: flow.nodes.filter((node) => ids.has(node.id)),
    links: flow.links.filter((link) => ids.has(ownerOf(link.src)) && ids.has(ownerOf(link.dst))),
  };
}

/** The id of the card at the end of a link: the dataset of a column, or the node itself. */
export function ownerOf(end: string): string {
  return end.startsWith('column:') ? datasetOfColumn(end) : end;
}
