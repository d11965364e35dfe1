import { useQueries, useQuery } from '@tanstack/react-query';
import { RunIdsDocument, type RunIdsQuery, RunTimesDocument, type RunTimesQuery } from '../api/generated/first/graphql';
import { queryOf } from '../api/query';

/** The end of a run, at which the lineage may have changed. */
export interface RunTick {
  /** An instant in ISO 8601. */
  at: string;
  run: string;
  /** Id of the job. */
  job: string;
  hasFailed: boolean;
}

/** Each job is a question of its own. */
const MAX_JOBS = 8;
/** Runs of each job, the latest. */
const RUNS = 25;

/** The ends of the latest runs of some jobs, the oldest first. Runs of further jobs are left out. */
export function useRunTicks(jobs: readonly string[], enabled: boolean) {
  const asked = enabled ? jobs.slice(0, MAX_JOBS) : [];
  const { runs, failed, isPending } = useQueries({
    queries: asked.map((job) => queryOf(RunIdsDocument, { job, first: RUNS })),
    combine: collectRuns,
  });
  const times = useQuery({
    ...queryOf(RunTimesDocument, { runs }),
    enabled: runs.length > 0 && !isPending,
    select: (answer) => ticksOf(answer),
  });
  return {
    ticks: (times.data ?? []).map((tick) => ({ ...tick, hasFailed: failed.has(tick.run) })),
    isPending: enabled && (isPending || (runs.length > 0 && times.isPending)),
    error: times.error,
    jobs: asked.length,
  };
}

function collectRuns(results: readonly { data: RunIdsQuery | undefined; isPending: boolean }[]) {
  const answers = results.flatMap(({ data }) => data ?? []);
  return {
    runs: answers.flatMap((answer) => answer.runs.nodes.map(({ id }) => id)).sort(),
    failed: new Set(answers.flatMap((answer) => answer.failed.nodes.map(({ id }) => id))),
    isPending: results.some(({ isPending }) => isPending),
  };
}

/** Runs that ended at the same instant share a tick. */
export function ticksOf({ lineage }: RunTimesQuery): Omit<RunTick, 'hasFailed'>[] {
  const ticks = lineage.edges
    .filter(({ src, dst }) => src.startsWith('job:') && dst.startsWith('run:'))
    .map(({ src, dst, last }) => ({ at: last.split(' ')[0] ?? last, run: dst, job: src }));
  return ticks.toSorted((a, b) => a.at.localeCompare(b.at)).filter(({ at }, index, all) => at !== all[index + 1]?.at);
}
