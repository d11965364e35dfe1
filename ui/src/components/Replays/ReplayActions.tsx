import {
  ApproveReplayDocument,
  CancelReplayDocument,
  CommitReplayDocument,
  RemoveReplayDocument,
  ReplayDocument,
  type ReplayQuery,
  ReplaysDocument,
  UndoReplayDocument,
} from '../../api/generated/graphql';
import { titleOf } from '../../graph/names';
import { useChange } from '../../hooks/useChange';
import { navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import { isRunning } from '../../hooks/useTraceJob';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { ErrorNote } from '../Note/Note';

type Replay = NonNullable<ReplayQuery['replay']>;

/** Replays of these kinds have results that differ from the real data on purpose, so they can be committed. */
const COMMITTABLE = new Set<Replay['kind']>(['EXCLUSIVE', 'WHAT_IF', 'REFRESH']);

/** The actions that the state of the replay and the scopes of the session allow. */
export function ReplayActions({ replay }: { replay: Replay }) {
  const { id, state, kind, output, differing, commit } = replay;
  const { scopes } = useSession();
  const effects = { stale: [ReplayDocument, ReplaysDocument] };
  const cancel = useChange(CancelReplayDocument, effects);
  const approve = useChange(ApproveReplayDocument, effects);
  const commitResult = useChange(CommitReplayDocument, effects);
  const undo = useChange(UndoReplayDocument, effects);
  const remove = useChange(RemoveReplayDocument, {
    stale: [ReplaysDocument],
    onSuccess: () => navigate({ ...HOME, page: 'replays' }),
  });
  if (!scopes.includes('replay')) return null;
  const changes = [cancel, approve, commitResult, undo, remove];
  const error = changes.findLast((change) => change.error)?.error;
  const isBusy = changes.some((change) => change.isPending);
  const isCommitted = commit?.datasets.some((each) => each.state === 'DONE') ?? false;
  const isCommittable = state === 'COMPLETE' && COMMITTABLE.has(kind) && differing > 0 && !commit;
  return (
    <>
      <div className={styles.actions}>
        {isRunning(state) && (
          <ConfirmButton
            label="Cancel"
            object="this replay"
            disabled={isBusy}
            onConfirm={() => cancel.mutate({ id })}
          />
        )}
        {isCommittable && (
          <>
            <ConfirmButton
              label="Commit"
              object={`the result in the place of ${titleOf(output)}`}
              disabled={isBusy}
              onConfirm={() => commitResult.mutate({ id })}
            />
            <button
              type="button"
              disabled={isBusy}
              title="Some services need the approval of a second person before a commit"
              onClick={() => approve.mutate({ id })}
            >
              Approve
            </button>
          </>
        )}
        {isCommitted && (
          <ConfirmButton
            label="Undo the commit"
            object="and restore the old data"
            disabled={isBusy}
            onConfirm={() => undo.mutate({ id })}
          />
        )}
        {!isRunning(state) && !isCommitted && (
          <ConfirmButton
            label="Remove"
            object="this replay and its shadow folder"
            disabled={isBusy}
            onConfirm={() => remove.mutate({ id })}
          />
        )}
      </div>
      {error && <ErrorNote error={error} />}
      {approve.isSuccess && <p role="status">You approved the commit. Another person can commit now.</p>}
    </>
  );
}
