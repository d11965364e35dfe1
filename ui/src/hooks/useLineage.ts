import { useQuery } from '@tanstack/react-query';
import { type Direction, LineageDocument } from '../api/generated/graphql';
import { request } from '../api/request';

/** How many hops are followed: from dataset to dataset it takes two. */
export const DEPTH = 12;

/** Datasets and jobs around a dataset. */
export function useLineage(dataset: string | undefined, direction: Direction) {
  return useQuery({
    queryKey: ['lineage', dataset, direction],
    queryFn: ({ signal }) => {
      const focus = dataset === undefined ? [] : [dataset];
      return request(LineageDocument, { focus, direction, depth: DEPTH, kinds: ['READS', 'WRITES'] }, signal);
    },
    select: (answer) => answer.lineage,
    enabled: dataset !== undefined,
  });
}
