import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { LineageDocument } from '../api/generated/graphql';
import { request } from '../api/request';

/** How columns derive from one another, one step around the columns named. */
export function useColumnEdges(columns: readonly string[]) {
  const focus = [...columns].sort();
  return useQuery({
    queryKey: ['column-edges', focus],
    queryFn: ({ signal }) =>
      request(LineageDocument, { focus, direction: 'BOTH', depth: 1, kinds: ['DERIVES'] }, signal),
    select: (answer) => answer.lineage,
    enabled: focus.length > 0,
    placeholderData: keepPreviousData,
  });
}
