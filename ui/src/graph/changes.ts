/** The difference of a view to an earlier time, drawn in place: nodes and links that are gone stay in the drawing. */
import type { ViewDifferenceQuery } from '../api/generated/first/graphql';
import { type Change, type Flow, type FlowLink, type FlowNode, linkId } from './flow';
import type { ViewLink, ViewNode } from './view';

export type Difference = Pick<
  ViewDifferenceQuery['viewDifference'],
  'nodesAdded' | 'nodesRemoved' | 'edgesAdded' | 'edgesRemoved'
>;

interface View {
  nodes: readonly ViewNode[];
  edges: readonly ViewLink[];
}

/** A view with the nodes and links that are gone since. */
export function withGone<Answer extends View>(view: Answer, { nodesRemoved, edgesRemoved }: Difference): View {
  const nodes = [...view.nodes, ...nodesRemoved.map(goneNode)];
  const ids = new Set(nodes.map(({ node }) => node.id));
  const links = edgesRemoved.filter(({ src, dst }) => ids.has(src) && ids.has(dst));
  return {
    nodes,
    edges: [...view.edges, ...links.map(({ src, dst }): ViewLink => ({ src, dst, weight: 1, direct: true, via: 0 }))],
  };
}

function goneNode(node: Difference['nodesRemoved'][number]): ViewNode {
  return { node, members: 1, distance: 0, focus: false, upstream: false, downstream: false, wholly: true };
}

/** Mark the cards and links of a flow. `before` is the view at the earlier time, as far as it is known. */
export function markChanges(flow: Flow, difference: Difference, before?: View): Flow {
  const added = new Set(difference.nodesAdded.map(({ id }) => id));
  const gone = new Set(difference.nodesRemoved.map(({ id }) => id));
  const addedLinks = new Set(difference.edgesAdded.map(({ src, dst }) => linkId(src, dst)));
  const goneLinks = new Set(difference.edgesRemoved.map(({ src, dst }) => linkId(src, dst)));
  const members = new Map(before?.nodes.map(({ node, members: count }) => [node.id, count]));
  const flows = new Map(before?.edges.map((edge) => [linkId(edge.src, edge.dst), edge]));
  const changeOfNode = (node: FlowNode): Change | undefined => {
    const parts = node.columns ?? [node.id];
    if (parts.every((id) => added.has(id))) return 'added';
    if (parts.every((id) => gone.has(id))) return 'gone';
    if (parts.some((id) => added.has(id) || gone.has(id))) return 'changed';
    const earlier = members.get(node.id);
    return earlier !== undefined && node.members !== undefined && earlier !== node.members ? 'changed' : undefined;
  };
  const changeOfLink = (link: FlowLink): Change | undefined => {
    if (addedLinks.has(link.id)) return 'added';
    if (goneLinks.has(link.id)) return 'gone';
    const earlier = flows.get(link.id);
    const isSame = earlier === undefined || (earlier.weight === link.weight && earlier.direct !== link.isHidden);
    return isSame ? undefined : 'changed';
  };
  return {
    nodes: flow.nodes.map((node) => ({ ...node, change: changeOfNode(node) })),
    links: flow.links.map((link) => ({ ...link, change: changeOfLink(link) })),
  };
}

/** The numbers of added, gone and changed nodes and links. */
export interface ChangeCounts {
  nodes: Record<Change, number>;
  links: Record<Change, number>;
}

export function countChanges({ nodes, links }: Flow): ChangeCounts {
  const count = (parts: readonly { change?: Change | undefined }[]) => ({
    added: parts.filter(({ change }) => change === 'added').length,
    gone: parts.filter(({ change }) => change === 'gone').length,
    changed: parts.filter(({ change }) => change === 'changed').length,
  });
  return { nodes: count(nodes), links: count(links) };
}
