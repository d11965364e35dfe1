import { sourcesOfColumn } from '../graph/columns';
import { columnId } from '../graph/ids';
import { EVERYTHING, type Location } from '../location/location';
import { useColumnLineage } from './useLineage';

export interface Target {
  /** Id of the dataset whose records are asked for; undefined: every end of the lineage. */
  to: string | undefined;
  /** The dataset that is asked for unless another is chosen: the one source that the clicked value came from, where there is one. */
  usual: string | undefined;
  /** Whether it is not known yet. */
  isPending: boolean;
}

/**
 * Whose records are asked for. Joins bring records of many datasets into a row; a value usually comes from one of them, and that is
 * the one meant by “where did this come from”.
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
