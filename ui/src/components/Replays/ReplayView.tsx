import { useQuery } from '@tanstack/react-query';
import {
  RemoveReplayDocument,
  ReplayDocument,
  type ReplayQuery,
  type ReplayState,
  ReplaysDocument,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { duration } from '../../facts/time';
import { jobTitleOf } from '../../graph/names';
import { useChange } from '../../hooks/useChange';
import { navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import { isRunning } from '../../hooks/useTraceJob';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { Instant } from '../Instant/Instant';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Differences } from './Differences';
import { REFRESH_MS, TONE } from './ReplaysPage';
import own from './ReplayView.module.css';

type Replay = NonNullable<ReplayQuery['replay']>;

const SIGN: Record<ReplayState, string> = { QUEUED: '○', RUNNING: '●', COMPLETE: '✓', FAILED: '✕' };

/** One replay: its progress, its result, and the actions of the session. */
export function ReplayView({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useQuery({
    ...queryOf(ReplayDocument, { id }),
    refetchInterval: (query) => (isRunning(query.state.data?.replay?.state) ? REFRESH_MS : false),
  });
  if (isPending) return <Skeleton label="Loading the replay" rows={4} />;
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (!data.replay) return <Note title="There is no such replay.">It may have been removed.</Note>;
  const { state, startedAt, endedAt, shadow, steps, differences, error: fault } = data.replay;
  return (
    <>
      <p className={styles.facts}>
        <Badge tone={TONE[state]}>{state.toLowerCase()}</Badge>
        <span>
          started <Instant at={startedAt} relative />
        </span>
        {endedAt && <span>took {duration(startedAt, endedAt)}</span>}
        <span>
          shadow folder <code>{shadow}</code>
        </span>
      </p>
      <Actions replay={data.replay} />
      {fault && <Note tone="bad" title={fault} />}
      <section className={styles.section} aria-labelledby="programs" aria-busy={isRunning(state)}>
        <h2 id="programs">Programs</h2>
        <ol className={own.steps} role="status" aria-label="Progress">
          {steps.map((step) => (
            <li key={step.job} className={own[step.state.toLowerCase()]}>
              <span aria-hidden="true">{SIGN[step.state]}</span> {jobTitleOf(step.job)}
              <small>{step.state.toLowerCase()}</small>
            </li>
          ))}
        </ol>
      </section>
      {state === 'COMPLETE' && (
        <section className={styles.section} aria-labelledby="differences">
          <h2 id="differences">Before and after</h2>
          {differences.length === 0 && <p className={styles.lead}>The replay wrote the same rows as before.</p>}
          <Differences differences={differences} />
        </section>
      )}
    </>
  );
}

/** The actions that the state of the replay and the scopes of the session allow. */
function Actions({ replay: { id, state } }: { replay: Replay }) {
  const { scopes } = useSession();
  const remove = useChange(RemoveReplayDocument, {
    stale: [ReplaysDocument],
    onSuccess: () => navigate({ ...HOME, page: 'replays' }),
  });
  if (!scopes.includes('replay')) return null;
  return (
    <div className={styles.actions}>
      {!isRunning(state) && (
        <ConfirmButton
          label="Remove"
          object="this replay and its shadow folder"
          disabled={remove.isPending}
          onConfirm={() => remove.mutate({ id })}
        />
      )}
      {remove.error && <ErrorNote error={remove.error} />}
    </div>
  );
}
