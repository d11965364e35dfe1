import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  CancelTraceDocument,
  StartTraceDocument,
  TraceJobDocument,
  type TraceQueryVariables,
} from '../api/generated/graphql';
import { request } from '../api/request';
import { useSession } from './useSession';
import { jobKey } from './useTrace';

const WHILE_RUNNING = 1000;

/** A trace that is too large to be answered at once, followed by the service as a job. It goes on where the page is left. */
export function useTraceJob(asked: TraceQueryVariables) {
  const client = useQueryClient();
  const { token } = useSession();
  const key = jobKey(asked);
  const { data: id } = useQuery<string | null>({
    queryKey: key,
    queryFn: () => null,
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const job = useQuery({
    queryKey: ['trace job', id],
    queryFn: ({ signal }) => request(TraceJobDocument, { id: id ?? '' }, signal),
    select: (answer) => answer.traceJob,
    enabled: Boolean(id),
    refetchInterval: (query) => (isRunning(query.state.data?.traceJob?.state) ? WHILE_RUNNING : false),
  });
  const start = useMutation({
    mutationFn: () => request(StartTraceDocument, asked, undefined, token),
    onSuccess: (answer) => client.setQueryData(key, answer.startTrace.id),
  });
  const cancel = useMutation({
    mutationFn: () => request(CancelTraceDocument, { id: id ?? '' }, undefined, token),
    onSuccess: () => job.refetch(),
  });
  return { id, job, start, cancel };
}

export function isRunning(state: string | undefined): boolean {
  return state === 'QUEUED' || state === 'RUNNING';
}
