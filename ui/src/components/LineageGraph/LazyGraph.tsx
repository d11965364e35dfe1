import { type ComponentProps, memo, Suspense, useDeferredValue } from 'react';
import { LineageGraph as SplitGraph } from '../../pages';
import { Skeleton } from '../Skeleton/Skeleton';

const Graph = memo(SplitGraph);
type GraphProps = ComponentProps<typeof Graph>;

/**
 * The graph, from a script of its own. React draws a deferred value in slices, so the page reacts to clicks while it draws a large graph.
 */
export function LineageGraph(props: GraphProps) {
  const current = useDeferredValue<GraphProps | undefined>(props, undefined);
  const skeleton = <Skeleton label="Drawing the lineage" rows={4} />;
  return <Suspense fallback={skeleton}>{current ? <Graph {...current} /> : skeleton}</Suspense>;
}
