import { useMutation, useQueryClient } from '@tanstack/react-query';
import { StartReplayDocument } from '../../api/generated/graphql';
import { request } from '../../api/request';
import type { RecordGroup } from '../../graph/records';
import { navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import { HOME } from '../../location/location';
import { ErrorNote } from '../Note/Note';
import styles from './ReplayButton.module.css';

/** More records are better left out by a predicate, on the command line. */
const MOST = 100;

interface ReplayButtonProps {
  /** What the trace found, by dataset. */
  groups: readonly RecordGroup[];
  /** Id of the dataset that is made again. */
  output: string;
}

/**
 * Runs the pipeline again without the records that were found, into a folder of its own. It is there only in a session that was opened
 * for it (`headwater serve --write-link`), and where all records are known and lie in one dataset.
 */
export function ReplayButton({ groups, output }: ReplayButtonProps) {
  const { scopes, token } = useSession();
  const client = useQueryClient();
  const [group] = groups;
  const rows = (group?.records ?? []).flatMap(({ file, row }) =>
    file === null || row === null ? [] : [{ file, row }],
  );
  const start = useMutation({
    mutationFn: () => request(StartReplayDocument, { dataset: group?.dataset ?? '', rows, output }, undefined, token),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['replays'] });
      navigate(HOME);
    },
  });
  const isWhole = groups.length === 1 && group !== undefined && !group.cut && group.coarse.length === 0;
  if (!scopes.includes('replay') || !isWhole || rows.length === 0 || rows.length > MOST) return null;
  return (
    <div className={styles.replay}>
      <button type="button" className={styles.button} disabled={start.isPending} onClick={() => start.mutate()}>
        Run again without {rows.length === 1 ? 'this record' : `these ${rows.length} records`}
      </button>
      <p>The jobs run again into a folder of their own. What they wrote before stays as it is.</p>
      {start.error && <ErrorNote error={start.error} />}
    </div>
  );
}
