import { useQueries } from '@tanstack/react-query';
import { SuspectsDocument, type SuspectsQuery } from '../api/generated/first/graphql';
import { queryOf } from '../api/query';
import type { NodeFacts } from './useFacts';

/** More jobs than this are not asked about: each is a question of its own. */
const MAX_ASKED = 40;

/** The question about the last complete run of a job, or about a run. A job without a complete run has an error for an answer. */
export function suspectsOf(name: string) {
  return { ...queryOf(SuspectsDocument, { name }), retry: false };
}

/** Numbers of unusual values of the last complete runs of jobs, by the id of the job. The drawing does not wait for them. */
export function useSuspects(facts: ReadonlyMap<string, NodeFacts>): ReadonlyMap<string, number> {
  const jobs = [...facts.keys()].filter((id) => id.startsWith('job:')).toSorted();
  return useQueries({
    queries: jobs.length > MAX_ASKED ? [] : jobs.map(suspectsOf),
    combine: countSuspects,
  });
}

function countSuspects(results: readonly { data: SuspectsQuery | undefined }[]): ReadonlyMap<string, number> {
  const reports = results.flatMap(({ data }) => data?.suspects ?? []);
  return new Map(reports.map(({ job, suspects }) => [job, suspects.length]));
}
