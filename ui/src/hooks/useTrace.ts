import { useQuery, useQueryClient } from '@tanstack/react-query';
import { TraceDocument, TraceJobAnswerDocument, type TraceQueryVariables } from '../api/generated/graphql';
import { answerOf } from '../api/query';
import { request } from '../api/request';
import { type Location, tracedRecord } from '../location/location';
import type { Target } from './useTarget';

const LIMIT = 1000;

/**
 * The trace that the location describes. While an answer about the same record loads, the previous answer stays, with its own question.
 * The answer about another record never stays.
 */
export function useTrace(location: Location, target: Target) {
  const client = useQueryClient();
  const variables = traceVariables(location, target);
  const query = useQuery({
    ...answerOf(TraceDocument, variables, async (signal) => {
      // The service remembers the answer of a trace that ran as a job for some time.
      const id = client.getQueryData<string>(jobKey(variables));
      const job = id ? (await request(TraceJobAnswerDocument, { id }, signal)).traceJob : null;
      return job?.answer ? { trace: job.answer } : request(TraceDocument, variables, signal);
    }),
    enabled: tracedRecord(location) !== undefined && !target.isPending,
  });
  const isKept = query.isPlaceholderData || target.isPending;
  const isAboutRecord = query.data !== undefined && isSameRecord(query.data.question, variables);
  return { query, data: isKept && !isAboutRecord ? undefined : query.data, isLoading: isKept || query.isPending };
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

function isSameRecord(one: TraceQueryVariables, other: TraceQueryVariables): boolean {
  const recordOf = ({ dataset, rows, column, asOf }: TraceQueryVariables) =>
    JSON.stringify([dataset, rows, column, asOf]);
  return recordOf(one) === recordOf(other);
}

export const LARGE_TRACES = ['trace job of'] as const;

/** The cache key of the id of the job that answers a trace. */
export function jobKey(variables: TraceQueryVariables) {
  return [...LARGE_TRACES, variables] as const;
}
