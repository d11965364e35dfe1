import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { TraceDocument, TraceJobAnswerDocument, type TraceQueryVariables } from '../api/generated/first/graphql';
import { answerOf } from '../api/query';
import { request } from '../api/request';
import { type Location, tracedRecord } from '../location/location';
import { versionOfRecord } from '../trace/version';
import { amendAddress } from './useLocation';
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

/**
 * Name the version of the record in the address, so that the address finds the record after the next write, too. The answer is known: it is
 * the answer to the same question about the version of now.
 */
export function useVersion(location: Location, target: Target): void {
  const { query } = useTrace(location, target);
  const client = useQueryClient();
  const { data, isPlaceholderData } = query;
  useEffect(() => {
    if (!data || isPlaceholderData || location.version || location.dataset === undefined) return;
    const version = versionOfRecord(data.answer.trace.path, location.dataset);
    if (version === undefined) return;
    const question = { ...data.question, asOf: version };
    client.setQueryData(answerOf(TraceDocument, question).queryKey, { question, answer: data.answer });
    const job = client.getQueryData<string>(jobKey(data.question));
    if (job) client.setQueryData(jobKey(question), job);
    amendAddress({ ...location, version });
  }, [data, isPlaceholderData, location, client]);
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
