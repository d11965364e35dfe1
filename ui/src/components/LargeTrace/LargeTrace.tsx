import { useEffect } from 'react';
import type { TraceQueryVariables } from '../../api/generated/first/graphql';
import { ago } from '../../facts/time';
import { isRunning, useTraceJob } from '../../hooks/useTraceJob';
import { ErrorNote, Note } from '../Note/Note';
import styles from './LargeTrace.module.css';

/** Number of the last lines of progress to show. */
const SHOWN = 8;

interface LargeTraceProps {
  variables: TraceQueryVariables;
  /** The service's reason for not answering immediately. */
  reason: string;
  onAnswer: () => void;
}

/** Starts a large trace as a job of the service, and shows its progress. */
export function LargeTrace({ variables, reason, onAnswer }: LargeTraceProps) {
  const { id, job, start, cancel } = useTraceJob(variables);
  const { data } = job;
  const state = data?.state;
  const isForgotten = job.isSuccess && data === null;

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each job
  useEffect(() => {
    if (state === 'COMPLETE') onAnswer();
  }, [state, id]);

  const begin = (
    <button type="button" className={styles.button} disabled={start.isPending} onClick={() => start.mutate(variables)}>
      {id ? 'Run it again' : 'Run it as a job'}
    </button>
  );
  if (!id || isForgotten || state === 'CANCELLED') {
    return (
      <Note tone="warn" title={titleOf(state, isForgotten)}>
        <p>{reason}</p>
        <p>The service can run it as a job. That can take minutes. This page shows the progress.</p>
        <p className={styles.actions}>{begin}</p>
        {start.error && <ErrorNote error={start.error} />}
      </Note>
    );
  }
  if (state === 'FAILED') {
    return (
      <Note tone="bad" title="This trace failed.">
        <p>{data?.error}</p>
        <p className={styles.actions}>{begin}</p>
        {start.error && <ErrorNote error={start.error} />}
      </Note>
    );
  }
  return (
    <section className={styles.job} aria-label="A large trace" aria-busy={state === undefined || isRunning(state)}>
      <p className={styles.head} role="status">
        <span className={styles.dot} aria-hidden="true" />
        {state === 'QUEUED' ? 'Waiting for its turn' : state === 'COMPLETE' ? 'Done' : 'Following the records'}
        {data && <span className={styles.since}>started {ago(data.startedAt)}</span>}
        {isRunning(state) && (
          <button
            type="button"
            className={styles.button}
            disabled={cancel.isPending}
            onClick={() => cancel.mutate({ id })}
          >
            Cancel
          </button>
        )}
      </p>
      <ol className={styles.lines}>
        {data?.progress.slice(-SHOWN).map((line, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines come in order, and some are equal
          <li key={place}>{line}</li>
        ))}
      </ol>
      {job.error && <ErrorNote error={job.error} onRetry={() => job.refetch()} />}
      {cancel.error && <ErrorNote error={cancel.error} />}
    </section>
  );
}

function titleOf(state: string | undefined, isForgotten: boolean): string {
  if (state === 'CANCELLED') return 'This trace was cancelled.';
  return isForgotten ? 'The service has forgotten this job.' : 'This trace is large.';
}
