import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { LineageDocument } from '../api/generated/graphql';
import { request } from '../api/request';
import { type DatasetSummary, lastRunsOf, summaries } from '../facts/datasets';
import { useSearch } from './useSearch';

/** Datasets whose name holds a text, each with what wrote it and how its last run went. The list comes first, its runs after. */
export function useDatasets(text: string) {
  const search = useSearch(text);
  const found = search.data?.nodes ?? [];
  const ids = found.map((node) => node.id);
  const writers = useQuery({
    queryKey: ['writers', ids],
    queryFn: ({ signal }) =>
      request(LineageDocument, { focus: ids, direction: 'UPSTREAM', depth: 1, kinds: ['WRITES'] }, signal),
    select: (answer) => answer.lineage,
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
  const around = writers.data ? lastRunsOf(writers.data) : [];
  const actors = useQuery({
    queryKey: ['actors', around],
    queryFn: ({ signal }) =>
      request(LineageDocument, { focus: around, direction: 'UPSTREAM', depth: 1, kinds: ['CONTAINS'] }, signal),
    select: (answer) => answer.lineage,
    enabled: around.length > 0,
    placeholderData: keepPreviousData,
  });
  const datasets: DatasetSummary[] = summaries(found, writers.data, actors.data);
  return { search, datasets, total: search.data?.total ?? 0 };
}
