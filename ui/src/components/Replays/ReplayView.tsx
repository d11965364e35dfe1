import { useQuery } from '@tanstack/react-query';
import { ReplayDocument, type ReplayQuery, type ReplayState } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { duration, instantText } from '../../facts/time';
import { jobTitleOf, pathOf, titleOf } from '../../graph/names';
import { isRunning } from '../../hooks/useTraceJob';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Differences } from './Differences';
import { ReplayActions } from './ReplayActions';
import { ReplayStop } from './ReplayStop';
import own from './ReplayView.module.css';
import { kindText, REFRESH_MS, TONE } from './replayStates';
import { selectionText } from './selection';

const COMMITTED: Record<Commit['datasets'][number]['state'], string> = {
  PREPARED: 'the commit was interrupted',
  DONE: 'the result is in the place of the real data',
  UNDONE: 'the old data is restored',
  EXPIRED: 'the old data is removed',
};
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
  const { state, kind, output, startedAt, endedAt, shadow, steps, notes, error: fault, commit } = data.replay;
  const { differences, differing, records, startedBy, stop } = data.replay;
  return (
    <>
      <p className={styles.facts}>
        <Badge tone={TONE[state]}>{state.toLowerCase()}</Badge>
        <span>
          {kindText(kind)}:{' '}
          <Link to={{ ...HOME, dataset: output }} title={pathOf(output)}>
            {titleOf(output)}
          </Link>
        </span>
        <span>
          started <Instant at={startedAt} relative />
          {startedBy && ` by ${startedBy}`}
        </span>
        {endedAt && <span>took {duration(startedAt, endedAt)}</span>}
        <span>
          shadow folder <code>{shadow}</code>
        </span>
      </p>
      {records.length > 0 && (
        <ul className={own.records} aria-label="Selected records">
          {records.map((each) => (
            <li key={`${each.use} ${each.file}`} title={each.file}>
              {selectionText(each)}
            </li>
          ))}
        </ul>
      )}
      <ReplayActions replay={data.replay} />
      {fault && <Note tone="bad" title={fault} />}
      {commit && <CommitNote commit={commit} />}
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
      <section className={styles.section} aria-labelledby="programs" aria-busy={isRunning(state)}>
        <h2 id="programs">Programs</h2>
        <div role="status" aria-label="Progress">
          <ol className={own.steps}>
            {steps.map((step) => (
              <li key={step.job} className={own[step.state.toLowerCase()]}>
                <span aria-hidden="true">{SIGN[step.state]}</span> {jobTitleOf(step.job)}
                <small>{step.state.toLowerCase()}</small>
              </li>
            ))}
          </ol>
        </div>
      </section>
      {stop && isRunning(state) && <ReplayStop key={stop.job} id={id} stop={stop} />}
      {state === 'COMPLETE' && (
        <section className={styles.section} aria-labelledby="differences">
          <h2 id="differences">Before and after</h2>
          <p className={styles.lead}>
            {differing === 0 && 'The replay wrote the same rows as before.'}
            {differing > 0 && `${differing.toLocaleString('en')} ${differing === 1 ? 'row differs' : 'rows differ'}.`}
            {differing > differences.length && ` These are the first ${differences.length.toLocaleString('en')}.`}
          </p>
          <Differences differences={differences} />
        </section>
      )}
    </>
  );
}

type Commit = NonNullable<NonNullable<ReplayQuery['replay']>['commit']>;

function CommitNote({ commit: { at, keptUntil, datasets } }: { commit: Commit }) {
  return (
    <Note title={`Committed on ${instantText(at)}. The old data is kept until ${instantText(keptUntil)}.`}>
      <ul>
        {datasets.map(({ dataset, state }) => (
          <li key={dataset}>
            {titleOf(dataset)}: {COMMITTED[state]}
          </li>
        ))}
      </ul>
    </Note>
  );
}
