import { type ComponentType, lazy, memo, Suspense, useDeferredValue } from 'react';
import { Skeleton } from '../Skeleton/Skeleton';

/** The graph of datasets and jobs (see its own file), loaded when it is first shown. */
export const LineageGraph = sliced(async () => (await import('../LineageGraph/LineageGraph')).LineageGraph);

/** The graph of a view (see its own file), loaded when it is first shown. */
export const ViewGraph = sliced(async () => (await import('../ViewGraph/ViewGraph')).ViewGraph);

/**
 * A component from a script of its own. It is drawn in slices, between which the page answers clicks: drawing a graph at once would
 * hold one frame for as long as it takes.
 */
function sliced<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const Drawing = lazy(async () => ({ default: memo(await load()) as unknown as ComponentType<Props> }));
  return function Sliced(props: Props) {
    const drawn = useDeferredValue<Props | undefined>(props, undefined);
    const waiting = <Skeleton label="Drawing the lineage" rows={4} />;
    return <Suspense fallback={waiting}>{drawn ? <Drawing {...drawn} /> : waiting}</Suspense>;
  };
}
