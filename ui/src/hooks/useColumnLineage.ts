import { useQuery } from '@tanstack/react-query';
import { LineageDocument } from '../api/generated/graphql';
import { request } from '../api/request';

const DEPTH = 12;

/** Columns that a column was made from, and those that it went into. */
export function useColumnLineage(column: string | undefined) {
  return useQuery({
    queryKey: ['column-lineage', column],
    queryFn: ({ signal }) => {
      const focus = column === undefined ? [] : [column];
      return request(LineageDocument, { focus, direction: 'BOTH', depth: DEPTH, kinds: ['DERIVES'] }, signal);
    },
    select: (answer) => answer.lineage,
    enabled: column !== undefined,
  });
}
