import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { DatasetListDocument, type DatasetListQuery, LineageDocument } from '../api/generated/first/graphql';
import { request } from '../api/request';
import { type DatasetSummary, lastRunsOf, summaries } from '../facts/datasets';
import type { RunFacts } from '../facts/runs';

/** Names of the facets by which the reader can narrow the list, with the chosen values. */
export type Chosen = Readonly<Record<FacetName, readonly string[]>>;
export type FacetName = 'state' | 'namespace' | 'owner' | 'tag';
export type Facets = DatasetListQuery['find']['facets'];

export const NOTHING_CHOSEN: Chosen = { state: [], namespace: [], owner: [], tag: [] };

export interface DatasetList {
  /** The text that these datasets were found by. */
  text: string;
  datasets: DatasetSummary[];
  /** The number of datasets on all pages. Without `counted`, at least so many. */
  total: number;
  counted: boolean;
  /** Whether more datasets exist than the service puts in order. */
  isCut: boolean;
  facets: Facets;
}

interface Page {
  text: string;
  datasets: DatasetSummary[];
  found: Omit<DatasetListQuery['find'], 'hits'>;
}

const FIRST = 100;
const REFRESH_MS = 5000;

/**
 * Datasets, their writers and last runs, page by page: failures first, or the best for a text. While the datasets for a new text load, the
 * ones for the text before stay: `data.text`. While there are no datasets at all, the page asks again.
 */
export function useDatasets(text: string, chosen: Chosen) {
  const name = useDeferredValue(text.trim());
  return useInfiniteQuery({
    queryKey: ['datasets', name, chosen],
    queryFn: ({ pageParam, signal }) => load(name, chosen, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page: Page) => page.found.cursor,
    select: ({ pages }): DatasetList | undefined => {
      const [first] = pages;
      const last = pages.at(-1);
      if (!first || !last) return undefined;
      const { total, counted, facets } = first.found;
      const datasets = pages.flatMap((page) => page.datasets);
      return { text: first.text, datasets, total, counted, isCut: !last.found.complete, facets };
    },
    placeholderData: keepPreviousData,
    refetchInterval: (query) => {
      const found = query.state.data?.pages[0]?.found;
      return name === '' && chosen === NOTHING_CHOSEN && found?.total === 0 ? REFRESH_MS : false;
    },
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
async function load(text: string, chosen: Chosen, after: string | null, signal: AbortSignal): Promise<Page> {
  const variables = {
    text,
    states: [...chosen.state],
    namespaces: [...chosen.namespace],
    owners: [...chosen.owner],
    tags: [...chosen.tag],
    first: FIRST,
    after,
  };
  const { hits, ...found } = (await request(DatasetListDocument, variables, signal)).find;
  const nodes = hits.map((hit) => hit.node);
  const writers = await lineage(
    nodes.map((node) => node.id),
    'WRITES',
    signal,
  );
  const actors = await lineage(lastRunsOf(writers), 'CONTAINS', signal);
  return { text, datasets: summaries(nodes, writers, actors), found };
}

async function lineage(focus: string[], kind: 'WRITES' | 'CONTAINS', signal: AbortSignal) {
  if (focus.length === 0) return { nodes: [], edges: [], truncated: 0 };
  return (await request(LineageDocument, { focus, direction: 'UPSTREAM', depth: 1, kinds: [kind] }, signal)).lineage;
}
