import { useQueries } from '@tanstack/react-query';
import { NodeDocument, type NodeQuery } from '../api/generated/graphql';
import { request } from '../api/request';
import { operationsOf } from '../facts/operations';

const MOST = 200;

/** The operations of runs, by the run's id. What is not there yet is absent. */
export function useOperations(runs: readonly string[]): Map<string, string[]> {
  return useQueries({
    queries: runs.map((run) => ({
      queryKey: ['operations', run],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        request(NodeDocument, { id: run, kinds: ['OPERATOR'], first: MOST }, signal),
    })),
    combine: byRun,
  });
}

/** Stands here, not inline: a combiner that is new with every render gives a new answer with every render. */
function byRun(results: readonly { data: NodeQuery | undefined }[]): Map<string, string[]> {
  return new Map(
    results.flatMap(({ data }) =>
      data?.node ? [[data.node.id, operationsOf(data.node.children.nodes)] as const] : [],
    ),
  );
}
