import { useDeferredValue, useMemo } from 'react';
import { type DraftOptions, makeDraft } from '../graph/draft';
import { dropFormerLinks, type Flow, makeFlow, mergeGraphs, ownerOf, restrictFlow } from '../graph/flow';
import {
  countNeighbours,
  type Depth,
  type Extent,
  type Growth,
  MAX_CARDS,
  selectNeighbourhood,
} from '../graph/neighbourhood';
import type { Draft } from '../graph/scene';
import type { LineageGraph } from '../graph/types';
import { useGrowth, useNeighbours } from './useLineage';

interface FlowDraftInput extends Omit<DraftOptions, 'neighbours'> {
  graph: LineageGraph;
  focus: string;
  growth?: readonly Growth[] | undefined;
  depth?: Depth | undefined;
  /** Number of cards before any growth. */
  first?: number | undefined;
  /** Whether links are drawn that their jobs have given up. */
  isFormerShown?: boolean | undefined;
  /** Whether only the highlighted path is drawn. */
  isPathOnly?: boolean;
}

export interface DrawnPart extends Draft {
  /** Whether the drawing has no space for more cards. */
  isFull: boolean;
  /** Number of nodes of the answer that are drawn. */
  nodes: number;
  /** Number of former links at the drawn nodes, drawn or not. */
  former: number;
}

const NO_GROWTH: readonly Growth[] = [];
/** Above this number of cards, the drawing does not ask for the neighbours of all of them. */
const MAX_ASKED = 400;

/** Select the part of a lineage to draw. The drawing does not wait for the number of hidden neighbours. */
export function useFlowDraft(input: FlowDraftInput): DrawnPart {
  const { graph: base, focus, highlight, captions, depth, first, isPathOnly = false, isFormerShown = false } = input;
  const growth = (!isPathOnly && input.growth) || NO_GROWTH;
  const more = useGrowth(growth);
  const graph = useMemo(() => (more.length > 0 ? mergeGraphs(base, ...more) : base), [base, more]);
  const flow = useMemo(() => {
    const seeds = [focus, ...(highlight?.nodes ?? [])];
    const whole = makeFlow(graph);
    const all = isFormerShown ? whole : dropFormerLinks(whole, highlight?.links);
    const reachable = isPathOnly ? restrictFlow(all, new Set(seeds)) : all;
    return restrictFlow(all, selectNeighbourhood(reachable, seeds, extentOf(growth, depth, first)));
  }, [graph, focus, highlight, growth, depth, first, isPathOnly, isFormerShown]);
  const ids = flow.nodes.map((node) => node.id);
  const surroundings = useDeferredValue(useNeighbours(ids, !isPathOnly && ids.length <= MAX_ASKED));
  return useMemo(() => {
    const known = makeFlow(surroundings ? mergeGraphs(graph, surroundings) : graph);
    const current = isFormerShown ? known : dropFormerLinks(known, highlight?.links);
    return makePart(
      flow,
      { links: !isPathOnly && surroundings ? current.links : [], all: isPathOnly ? [] : known.links },
      { focus, highlight, ...(captions && { captions }) },
    );
  }, [isPathOnly, isFormerShown, surroundings, graph, flow, focus, highlight, captions]);
}

/** Select the part of a view to draw. */
export function useViewDraft(
  whole: Flow,
  {
    growth = NO_GROWTH,
    depth,
    first,
    isFormerShown = false,
  }: Pick<FlowDraftInput, 'growth' | 'depth' | 'first' | 'isFormerShown'> = {},
): DrawnPart {
  return useMemo(() => {
    const all = isFormerShown ? whole : dropFormerLinks(whole);
    const seeds = all.nodes.filter(({ isFocus }) => isFocus).map(({ id }) => id);
    const flow = restrictFlow(all, selectNeighbourhood(all, seeds, extentOf(growth, depth, first)));
    return makePart(flow, { links: all.links, all: whole.links }, {});
  }, [whole, growth, depth, first, isFormerShown]);
}

function extentOf(growth: readonly Growth[], depth: Depth | undefined, first: number | undefined): Extent {
  return { growth, ...(depth && { depth }), ...(first !== undefined && { first }) };
}

/** `links` also join drawn nodes to nodes that are not drawn. `all` contains the former links, too. */
function makePart(
  flow: Flow,
  { links, all }: { links: Flow['links']; all: Flow['links'] },
  options: DraftOptions,
): DrawnPart {
  const ids = new Set(flow.nodes.map((node) => node.id));
  const neighbours = countNeighbours(links, ids);
  const former = all.filter(
    (link) => link.isFormer && (ids.has(ownerOf(link.src)) || ids.has(ownerOf(link.dst))),
  ).length;
  const draft = makeDraft(flow, { ...options, neighbours });
  const nodes = flow.nodes.reduce((sum, { count = 1 }) => sum + count, 0);
  return { ...draft, nodes, former, isFull: draft.cards.length >= MAX_CARDS };
}
