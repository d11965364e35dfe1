import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { LineageDocument, SearchDocument } from '../api/generated/graphql';
import { request } from '../api/request';
import { type DatasetSummary, lastRunsOf, summaries } from '../facts/datasets';
import type { RunFacts } from '../facts/runs';

export interface DatasetList {
  /** The text that these datasets contain. */
  text: string;
  datasets: DatasetSummary[];
  total: number;
}

const FIRST = 200;
const REFRESH_MS = 5000;

/**
 * Datasets with a text in their name, their writers and last runs. While the datasets for a new text load, the ones for the text before
 * stay: `data.text`. While there are no datasets at all, the page asks again.
 */
export function useDatasets(text: string) {
  const name = useDeferredValue(text.trim());
  return useQuery({
    queryKey: ['datasets', name],
    queryFn: ({ signal }) => load(name, signal),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (name === '' && query.state.data?.total === 0 ? REFRESH_MS : false),
  });
}

/** The last run that writes a dataset, undefined if it is loading or unknown. */
export function useLastRun(dataset: string): RunFacts | undefined {
  return (
    useQuery({
      queryKey: ['last-run', dataset],
      queryFn: async ({ signal }) => {
        const writers = await lineage([dataset], 'WRITES', signal);
        const actors = await lineage(lastRunsOf(writers), 'CONTAINS', signal);
        const focus = writers.nodes.filter((node) => node.id === dataset).map((node) => ({ ...node, containers: [] }));
        return summaries(focus, writers, actors)[0]?.lastRun ?? null;
      },
    }).data ?? undefined
  );
}

/** Three batches: the datasets, the jobs that write them, and the last runs and pipelines of these jobs. */
async function load(text: string, signal: AbortSignal): Promise<DatasetList> {
  const { search } = await request(SearchDocument, { text, kinds: ['DATASET'], first: FIRST, after: null }, signal);
  const ids = search.nodes.map((node) => node.id);
  const writers = await lineage(ids, 'WRITES', signal);
  const actors = await lineage(lastRunsOf(writers), 'CONTAINS', signal);
  return { text, datasets: summaries(search.nodes, writers, actors), total: search.total };
}

async function lineage(focus: string[], kind: 'WRITES' | 'CONTAINS', signal: AbortSignal) {
  if (focus.length === 0) return { nodes: [], edges: [], truncated: 0 };
  return (await request(LineageDocument, { focus, direction: 'UPSTREAM', depth: 1, kinds: [kind] }, signal)).lineage;
}
