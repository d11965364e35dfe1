import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { TraceDocument, TraceJobAnswerDocument, type TraceQueryVariables } from '../api/generated/graphql';
import { request } from '../api/request';
import { type Location, tracedRecord } from '../location/location';
import type { Target } from './useTarget';

const LIMIT = 1000;

/** Where the record that the location names came from, or where it went, as records of a target. The last answer stays while the next is on its way. */
export function useTrace(location: Location, target: Target) {
  const client = useQueryClient();
  const asked = traceOf(location, target);
  return useQuery({
    queryKey: ['trace', asked],
    queryFn: async ({ signal }) => {
      // Of a trace that was followed as a job, the answer is there as long as the service remembers it.
      const id = client.getQueryData<string>(jobKey(asked));
      const job = id ? (await request(TraceJobAnswerDocument, { id }, signal)).traceJob : null;
      return job?.answer ? { trace: job.answer } : request(TraceDocument, asked, signal);
    },
    select: (answer) => answer.trace,
    enabled: tracedRecord(location) !== undefined && !target.isPending,
    placeholderData: keepPreviousData,
  });
}

/** The question that a location asks. */
export function traceOf(location: Location, { to }: Target): TraceQueryVariables {
  const record = tracedRecord(location);
  return {
    dataset: record?.dataset ?? '',
    rows: record ? [{ file: record.file, row: record.row }] : [],
    column: location.column ?? null,
    semantics: location.semantics === 'witness' ? 'WITNESS' : 'INFLUENCE',
    forward: location.direction === 'forward',
    to: to ?? null,
    limit: LIMIT,
  };
}

export const LARGE_TRACES = ['trace job of'] as const;

/** Where the id of the job that follows a trace is remembered. */
export function jobKey(asked: TraceQueryVariables) {
  return [...LARGE_TRACES, asked] as const;
}
