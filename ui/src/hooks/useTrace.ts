import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { TraceDocument, TraceJobAnswerDocument, type TraceQueryVariables } from '../api/generated/graphql';
import { keyOf } from '../api/query';
import { request } from '../api/request';
import { type Location, tracedRecord } from '../location/location';
import type { Target } from './useTarget';

const LIMIT = 1000;

/** The trace that the location describes. While an answer loads, the previous answer stays. */
export function useTrace(location: Location, target: Target) {
  const client = useQueryClient();
  const variables = traceVariables(location, target);
  return useQuery({
    queryKey: [...keyOf(TraceDocument), variables],
    queryFn: async ({ signal }) => {
      // The service remembers the answer of a trace that ran as a job for some time.
      const id = client.getQueryData<string>(jobKey(variables));
      const job = id ? (await request(TraceJobAnswerDocument, { id }, signal)).traceJob : null;
      return job?.answer ? { trace: job.answer } : request(TraceDocument, variables, signal);
    },
    select: (answer) => answer.trace,
    enabled: tracedRecord(location) !== undefined && !target.isPending,
    placeholderData: keepPreviousData,
  });
}

export function traceVariables(location: Location, { to }: Target): TraceQueryVariables {
  const record = tracedRecord(location);
  return {
    dataset: record?.dataset ?? '',
    rows: record ? [{ file: record.file, row: record.row }] : [],
    column: location.column ?? null,
    semantics: location.semantics === 'witness' ? 'WITNESS' : 'INFLUENCE',
    forward: location.direction === 'forward',
    to: to ?? null,
    limit: LIMIT,
    asOf: location.version ?? null,
  };
}

export const LARGE_TRACES = ['trace job of'] as const;

/** The cache key of the id of the job that answers a trace. */
export function jobKey(variables: TraceQueryVariables) {
  return [...LARGE_TRACES, variables] as const;
}
