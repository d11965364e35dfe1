import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { SearchDocument } from '../api/generated/graphql';
import { request } from '../api/request';

const FIRST = 200;

/** Datasets whose name holds a text, as it is typed. */
export function useSearch(text: string, enabled = true) {
  const wanted = useDeferredValue(text.trim());
  return useQuery({
    queryKey: ['search', wanted],
    queryFn: ({ signal }) =>
      request(SearchDocument, { text: wanted, kinds: ['DATASET'], first: FIRST, after: null }, signal),
    select: (answer) => answer.search,
    placeholderData: keepPreviousData,
    enabled,
  });
}
