import { ReplaysDocument, StartReplayDocument } from '../../api/generated/graphql';
import type { RecordGroup } from '../../graph/records';
import { useChange } from '../../hooks/useChange';
import { navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import { HOME } from '../../location/location';
import { ErrorNote } from '../Note/Note';
import styles from './ReplayButton.module.css';

/** A predicate on the command line suits more records better. */
const MAX_RECORDS = 100;

interface ReplayButtonProps {
  /** The traced records by dataset. */
  groups: readonly RecordGroup[];
  /** Id of the dataset to compute again. */
  output: string;
}

/**
 * Runs the pipeline again without the traced records, into a shadow folder. The button is visible in a session with the scope `replay`
 * (`headwater serve --write-link`) if all records are known and belong to one dataset.
 */
export function ReplayButton({ groups, output }: ReplayButtonProps) {
  const { scopes } = useSession();
  const [group] = groups;
  const rows = (group?.records ?? []).flatMap(({ file, row }) =>
    file === null || row === null ? [] : [{ file, row }],
  );
  const start = useChange(StartReplayDocument, { stale: [ReplaysDocument], onSuccess: () => navigate(HOME) });
  const isWhole = groups.length === 1 && group !== undefined && !group.cut && group.coarse.length === 0;
  if (!scopes.includes('replay') || !isWhole || rows.length === 0 || rows.length > MAX_RECORDS) return null;
  return (
    <div className={styles.replay}>
      <button
        type="button"
        className={styles.button}
        disabled={start.isPending}
        onClick={() => start.mutate({ dataset: group.dataset, rows, output })}
      >
        Run again without {rows.length === 1 ? 'this record' : `these ${rows.length} records`}
      </button>
      <p>The jobs run again into a shadow folder. The real data stays unchanged.</p>
      {start.error && <ErrorNote error={start.error} />}
    </div>
  );
}
