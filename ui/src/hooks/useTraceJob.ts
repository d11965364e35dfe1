import { useQuery, useQueryClient } from '@tanstack/react-query';
import {
  CancelTraceDocument,
  StartTraceDocument,
  TraceJobDocument,
  type TraceQueryVariables,
} from '../api/generated/first/graphql';
import { queryOf } from '../api/query';
import { useChange } from './useChange';
import { jobKey } from './useTrace';

const REFRESH_MS = 1000;

/** A large trace that runs as a job of the service. The job continues when the reader leaves the page. */
export function useTraceJob(variables: TraceQueryVariables) {
  const client = useQueryClient();
  const key = jobKey(variables);
  const { data: id } = useQuery<string | null>({
    queryKey: key,
    queryFn: () => null,
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const job = useQuery({
    ...queryOf(TraceJobDocument, { id: id ?? '' }),
    select: (answer) => answer.traceJob,
    enabled: Boolean(id),
    refetchInterval: (query) => (isRunning(query.state.data?.traceJob?.state) ? REFRESH_MS : false),
  });
  const start = useChange(StartTraceDocument, {
    onSuccess: ({ startTrace }) => client.setQueryData(key, startTrace.id),
  });
  const cancel = useChange(CancelTraceDocument, { stale: [TraceJobDocument] });
  return { id, job, start, cancel };
}

export function isRunning(state: string | undefined): boolean {
  return state === 'QUEUED' || state === 'RUNNING';
}
