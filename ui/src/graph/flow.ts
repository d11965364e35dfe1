import { jobWords, shortNames } from './names';
import type { Neighbours } from './neighbourhood';
import type { Highlight } from './path';
import type { Draft, State } from './scene';
import type { GraphNode, LineageGraph } from './types';

export interface FlowNode extends GraphNode {
  kind: 'DATASET' | 'JOB';
}

export interface FlowLink {
  id: string;
  src: string;
  dst: string;
}

/** The datasets and jobs of a lineage, and the data flow between them. */
export interface Flow {
  nodes: FlowNode[];
  links: FlowLink[];
}

export function makeFlow(graph: LineageGraph): Flow {
  const nodes = graph.nodes.filter(isFlowNode);
  const ids = new Set(nodes.map((node) => node.id));
  const links = new Map<string, FlowLink>();
  for (const { src, dst, kind } of graph.edges) {
    if ((kind !== 'READS' && kind !== 'WRITES') || !ids.has(src) || !ids.has(dst)) continue;
    const id = linkId(src, dst);
    links.set(id, { id, src, dst });
  }
  return { nodes, links: [...links.values()] };
}

function isFlowNode(node: GraphNode): node is FlowNode {
  return node.kind === 'DATASET' || node.kind === 'JOB';
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

export function restrictFlow(flow: Flow, ids: ReadonlySet<string>): Flow {
  return {
    nodes: flow.nodes.filter((node) => ids.has(node.id)),
    links: flow.links.filter((link) => ids.has(link.src) && ids.has(link.dst)),
  };
}

export interface FlowOptions {
  /** Id of the dataset that the page shows. */
  focus?: string;
  /** The path of a trace. Without it, no card is dim. */
  highlight?: Highlight | undefined;
  /** Captions of datasets by their id: the number of records in the trace. */
  captions?: ReadonlyMap<string, string>;
  neighbours?: ReadonlyMap<string, Neighbours>;
}

export function draftOfFlow(flow: Flow, { focus, highlight, captions, neighbours }: FlowOptions = {}): Draft {
  const titles = shortNames(flow.nodes.filter(({ kind }) => kind === 'DATASET').map(({ id, name }) => [id, name]));
  const stateOf = (id: string, ids: ReadonlySet<string> | undefined): { state: State; isCoarse: boolean } => ({
    state: ids === undefined ? 'plain' : ids.has(id) ? 'traced' : 'dim',
    isCoarse: highlight?.coarse.has(id) ?? false,
  });
  const cards = flow.nodes.map(({ id, kind, name }) => {
    const { state, isCoarse } = stateOf(id, highlight?.nodes);
    const words =
      kind === 'DATASET'
        ? { title: titles.get(id) ?? name, caption: captions?.get(id) ?? 'dataset' }
        : jobWords(name, isCoarse ? 'job, by dataset only' : 'job');
    return { id, kind, name, ...words, isFocus: id === focus, state, isCoarse };
  });
  const links = flow.links.map((link) => ({ ...link, ...stateOf(link.id, highlight?.links) }));
  return { cards, links, ...(neighbours && { neighbours }) };
}
