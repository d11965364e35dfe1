import { useDeferredValue, useMemo } from 'react';
import type { ViewQuery } from '../api/generated/graphql';
import { draftOfFlow, type FlowOptions, makeFlow, mergeGraphs, restrictFlow } from '../graph/flow';
import { countNeighbours, type Growth, MAX_CARDS, selectNeighbourhood } from '../graph/neighbourhood';
import type { Draft } from '../graph/scene';
import type { LineageGraph } from '../graph/types';
import { draftOfView } from '../graph/view';
import { useGrowth, useNeighbours } from './useLineage';

interface FlowDraftInput extends Omit<FlowOptions, 'neighbours'> {
  graph: LineageGraph;
  focus: string;
  growth?: readonly Growth[] | undefined;
  /** Whether only the highlighted path is drawn. */
  isPathOnly?: boolean;
}

const NO_GROWTH: readonly Growth[] = [];

/** Select the part of a lineage to draw. The drawing does not wait for the number of hidden neighbours. */
export function useFlowDraft(input: FlowDraftInput): Draft & { isFull: boolean } {
  const { graph: base, focus, highlight, captions, isPathOnly = false } = input;
  const growth = (!isPathOnly && input.growth) || NO_GROWTH;
  const more = useGrowth(growth);
  const graph = useMemo(() => (more.length > 0 ? mergeGraphs(base, ...more) : base), [base, more]);
  const flow = useMemo(() => {
    const seeds = [focus, ...(highlight?.nodes ?? [])];
    const all = makeFlow(graph);
    const reachable = isPathOnly ? restrictFlow(all, new Set(seeds)) : all;
    return restrictFlow(all, selectNeighbourhood(reachable, seeds, growth));
  }, [graph, focus, highlight, growth, isPathOnly]);
  const ids = flow.nodes.map((node) => node.id);
  const surroundings = useDeferredValue(useNeighbours(ids, !isPathOnly));
  return useMemo(() => {
    const links = !isPathOnly && surroundings ? makeFlow(mergeGraphs(graph, surroundings)).links : [];
    const neighbours = countNeighbours(links, new Set(flow.nodes.map((node) => node.id)));
    const draft = draftOfFlow(flow, { focus, highlight, ...(captions && { captions }), neighbours });
    return { ...draft, isFull: draft.cards.length >= MAX_CARDS };
  }, [isPathOnly, surroundings, graph, flow, focus, highlight, captions]);
}

export function useViewDraft({ nodes, edges }: ViewQuery['view']) {
  return useMemo(() => draftOfView(nodes, edges), [nodes, edges]);
}
