import { useDeferredValue, useMemo } from 'react';
import { type Flow, flowOf, mergeGraphs, restrictFlow } from '../graph/flow';
import { type Growth, type Hidden, hiddenBeside, neighbourhood } from '../graph/neighbourhood';
import type { LineageGraph } from '../graph/types';
import { useBeside, useGrown } from './useLineage';

interface Neighbourhood {
  /** What is drawn. */
  flow: Flow;
  /** All that is known: what is drawn, and more around it. */
  graph: LineageGraph;
  /** Neighbours that are not drawn, by the id of the drawn node. */
  hidden: ReadonlyMap<string, Hidden>;
}

const NONE: ReadonlyMap<string, Hidden> = new Map();

/**
 * The part of a lineage that is drawn: the seeds and the nearest around them, and what was let grow. `only`: the seeds alone.
 * The drawing does not wait for the number of hidden neighbours.
 */
export function useNeighbourhood(
  known: LineageGraph,
  seeds: readonly string[],
  grown: readonly Growth[],
  only: boolean,
): Neighbourhood {
  const more = useGrown(only ? [] : grown);
  const graph = useMemo(() => (more.length > 0 ? mergeGraphs(known, ...more) : known), [known, more]);
  const flow = useMemo(() => {
    const whole = flowOf(graph);
    const reachable = only ? restrictFlow(whole, new Set(seeds)) : whole;
    return restrictFlow(whole, neighbourhood(reachable, seeds, only ? [] : grown));
  }, [graph, seeds, grown, only]);
  const beside = useDeferredValue(
    useBeside(
      flow.nodes.map((node) => node.id),
      !only,
    ),
  );
  const hidden = useMemo(() => {
    if (only || !beside) return NONE;
    const links = new Map([graph, beside].flatMap((part) => flowOf(part).links).map((link) => [link.id, link]));
    return hiddenBeside([...links.values()], new Set(flow.nodes.map((node) => node.id)));
  }, [only, graph, beside, flow]);
  return { flow, graph, hidden };
}
