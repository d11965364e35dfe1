import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { LineageDocument, SearchDocument } from '../api/generated/graphql';
import { request } from '../api/request';
import { type DatasetSummary, lastRunsOf, summaries } from '../facts/datasets';
import type { RunFacts } from '../facts/runs';

const FIRST = 200;
const WHILE_EMPTY = 5000;

/** Datasets whose name holds a text, each with what wrote it and how its last run went. While there are none at all, it looks again. */
export function useDatasets(text: string) {
  const wanted = useDeferredValue(text.trim());
  return useQuery({
    queryKey: ['datasets', wanted],
    queryFn: ({ signal }) => load(wanted, signal),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (wanted === '' && query.state.data?.total === 0 ? WHILE_EMPTY : false),
  });
}

/** How the last run that wrote a dataset went; undefined while it is not known, or where no known job writes it. */
export function useLastRun(dataset: string): RunFacts | undefined {
  return (
    useQuery({
      queryKey: ['last-run', dataset],
      queryFn: async ({ signal }) => {
        const writers = await lineage([dataset], 'WRITES', signal);
        const actors = await lineage(lastRunsOf(writers), 'CONTAINS', signal);
        const found = writers.nodes.filter((node) => node.id === dataset).map((node) => ({ ...node, containers: [] }));
        return summaries(found, writers, actors)[0]?.lastRun ?? null;
      },
    }).data ?? undefined
  );
}

/** Three steps, each a batch: the datasets, the jobs that write them, and the last runs and the pipelines of these. */
async function load(text: string, signal: AbortSignal): Promise<{ datasets: DatasetSummary[]; total: number }> {
  const { search } = await request(SearchDocument, { text, kinds: ['DATASET'], first: FIRST, after: null }, signal);
  const ids = search.nodes.map((node) => node.id);
  const writers = await lineage(ids, 'WRITES', signal);
  const actors = await lineage(lastRunsOf(writers), 'CONTAINS', signal);
  return { datasets: summaries(search.nodes, writers, actors), total: search.total };
}

async function lineage(focus: string[], kind: 'WRITES' | 'CONTAINS', signal: AbortSignal) {
  if (focus.length === 0) return { nodes: [], edges: [], truncated: 0 };
  return (await request(LineageDocument, { focus, direction: 'UPSTREAM', depth: 1, kinds: [kind] }, signal)).lineage;
}
