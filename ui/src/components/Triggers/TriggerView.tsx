import { useQuery } from '@tanstack/react-query';
import {
  FireTriggerDocument,
  PauseTriggerDocument,
  RemoveTriggerDocument,
  ResumeTriggerDocument,
  TriggerDocument,
  type TriggerState,
  TriggersDocument,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { useChange } from '../../hooks/useChange';
import { navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { Instant } from '../Instant/Instant';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Causes } from './Causes';
import { TONE, TRIGGERS } from './TriggersPage';
import { TriggerTest } from './TriggerTest';

const SHOWN = 50;
const REFRESH_MS = 5000;

/** One trigger: its definition, its last causes, and the actions of the session. */
export function TriggerView({ name }: { name: string }) {
  const { data, error, isPending, refetch } = useQuery({
    ...queryOf(TriggerDocument, { name, first: SHOWN }),
    refetchInterval: (query) => (query.state.data?.trigger?.state === 'ACTIVE' ? REFRESH_MS : false),
  });
  const { scopes } = useSession();
  if (isPending) return <Skeleton label="Loading the trigger" rows={4} />;
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (!data.trigger) return <Note title="There is no such trigger.">It may have been removed.</Note>;
  const { state, reason, condition, action, owner, createdAt, definition, history } = data.trigger;
  return (
    <>
      <p className={styles.facts}>
        <Badge tone={TONE[state]}>{state.toLowerCase()}</Badge>
        <span>
          {condition}: {action}
        </span>
        <span>owner {owner}</span>
        <span>
          created <Instant at={createdAt} relative />
        </span>
      </p>
      {reason && <Note tone={state === 'STOPPED' ? 'bad' : 'plain'} title={reason} />}
      <Actions name={name} state={state} />
      <section className={styles.section} aria-labelledby="causes">
        <h2 id="causes">History</h2>
        {history.length === 0 && <p className={styles.lead}>The trigger has no cause yet.</p>}
        {history.length > 0 && <Causes label="Causes, the latest first" causes={history} />}
      </section>
      {scopes.includes('replay') && <TriggerTest name={name} />}
      <details className={styles.section}>
        <summary>Definition</summary>
        <pre>{JSON.stringify(definition, null, 2)}</pre>
      </details>
    </>
  );
}

/** The actions that the state of the trigger and the scopes of the session allow. */
function Actions({ name, state }: { name: string; state: TriggerState }) {
  const { scopes } = useSession();
  const stale = [TriggersDocument, TriggerDocument];
  const fire = useChange(FireTriggerDocument, { stale });
  const pause = useChange(PauseTriggerDocument, { stale });
  const resume = useChange(ResumeTriggerDocument, { stale });
  const remove = useChange(RemoveTriggerDocument, { stale: [TriggersDocument], onSuccess: () => navigate(TRIGGERS) });
  if (!scopes.includes('replay')) return null;
  const error = fire.error ?? pause.error ?? resume.error ?? remove.error;
  return (
    <>
      <div className={styles.actions}>
        {state === 'ACTIVE' ? (
          <>
            <ConfirmButton label="Fire" object="this trigger" onConfirm={() => fire.mutate({ name })} />
            <button type="button" disabled={pause.isPending} onClick={() => pause.mutate({ name })}>
              Pause
            </button>
          </>
        ) : (
          <button
            type="button"
            disabled={resume.isPending}
            title="You become the owner"
            onClick={() => resume.mutate({ name })}
          >
            Resume
          </button>
        )}
        <ConfirmButton label="Remove" object="this trigger and its history" onConfirm={() => remove.mutate({ name })} />
      </div>
      {error && <ErrorNote error={error} />}
    </>
  );
}
