import type { GraphNode, LineageGraph } from './types';

/** A dataset or a job, as the page draws it. */
export interface FlowNode extends GraphNode {
  kind: 'DATASET' | 'JOB';
}

export interface FlowLink {
  id: string;
  src: string;
  dst: string;
}

/** Datasets and jobs, and what flows between them: the level at which the page draws lineage. */
export interface Flow {
  nodes: FlowNode[];
  links: FlowLink[];
}

/** The datasets and jobs of a graph. Runs, versions and columns live inside them and are shown when they are opened. */
export function flowOf(graph: LineageGraph): Flow {
  const nodes = graph.nodes.filter(isFlowNode);
  const known = new Set(nodes.map((node) => node.id));
  const links = new Map<string, FlowLink>();
  for (const { src, dst, kind } of graph.edges) {
    if ((kind !== 'READS' && kind !== 'WRITES') || !known.has(src) || !known.has(dst)) continue;
    const id = linkId(src, dst);
    links.set(id, { id, src, dst });
  }
  return { nodes, links: [...links.values()] };
}

/** Several graphs as one; a node that is in many keeps its first form. */
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

/** What is left of a flow when only some of its nodes are shown. */
export function restrictFlow(flow: Flow, shown: ReadonlySet<string>): Flow {
  return {
    nodes: flow.nodes.filter((node) => shown.has(node.id)),
    links: flow.links.filter((link) => shown.has(link.src) && shown.has(link.dst)),
  };
}

export function linkId(src: string, dst: string): string {
  return `${src}→${dst}`;
}

function isFlowNode(node: GraphNode): node is FlowNode {
  return node.kind === 'DATASET' || node.kind === 'JOB';
}
