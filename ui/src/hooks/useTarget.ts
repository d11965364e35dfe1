import { sourcesOfColumn } from '../graph/columns';
import { columnId } from '../graph/ids';
import { EVERYTHING, type Location } from '../location/location';
import { useColumnLineage } from './useLineage';

export interface Target {
  /** Id of the target dataset, undefined for all ends of the lineage. */
  to: string | undefined;
  /** The default target: the source of the clicked value, if it has exactly one. */
  usual: string | undefined;
  /** Whether the default target is still loading. */
  isPending: boolean;
}

/**
 * The target of a trace. A join brings records of many datasets into a row, but a value usually comes from one dataset. A reader who asks
 * for the origin of the value means that dataset.
 */
export function useTarget({ dataset, column, direction, to }: Location): Target {
  const asks = dataset !== undefined && column !== undefined && direction === 'backward';
  const clicked = asks ? columnId(dataset, column) : undefined;
  const lineage = useColumnLineage(clicked);
  const sources = lineage.data && clicked ? sourcesOfColumn(lineage.data, clicked) : [];
  const usual = sources.length === 1 && sources[0] !== dataset ? sources[0] : undefined;
  const isPending = asks && lineage.isPending;
  if (to !== undefined) return { to: to === EVERYTHING ? undefined : to, usual, isPending: false };
  return { to: usual, usual, isPending };
}
