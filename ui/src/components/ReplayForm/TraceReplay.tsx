import { useState } from 'react';
import { ReplaysDocument, type RowRef, StartReplayDocument } from '../../api/generated/graphql';
import type { ReachedRecord, RecordGroup } from '../../graph/records';
import { useChange } from '../../hooks/useChange';
import { navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import { definedParts, HOME, type Location } from '../../location/location';
import controls from '../../styles/controls.module.css';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { ReplayView } from '../Replays/ReplayView';
import { ReplayForm } from './ReplayForm';
import styles from './TraceReplay.module.css';

/** A predicate suits more records better. */
const MAX_RECORDS = 100;

interface TraceReplayProps {
  /** The traced records by dataset. */
  groups: readonly RecordGroup[];
  selected: readonly ReachedRecord[];
  /** Id of the dataset to compute again. */
  output: string;
  location: Location;
}

/**
 * Runs the pipeline again without the traced records, or with them in another kind of replay. This is visible in a session with the scope
 * `replay` if all records are known and belong to one dataset.
 */
export function TraceReplay({ groups, selected, output, location }: TraceReplayProps) {
  const { scopes } = useSession();
  const [isOpen, setOpen] = useState(false);
  const onStart = (id: string) => {
    setOpen(false);
    navigate({ ...location, replay: id });
  };
  const start = useChange(StartReplayDocument, {
    stale: [ReplaysDocument],
    onSuccess: ({ startReplay }) => onStart(startReplay.id),
  });
  const [group] = groups;
  const rows = rowsOf(group?.records ?? []);
  const isWhole = groups.length === 1 && group !== undefined && !group.cut && group.coarse.length === 0;
  if (location.replay) return <ShownReplay id={location.replay} location={location} />;
  if (!scopes.includes('replay') || !isWhole || rows.length === 0 || rows.length > MAX_RECORDS) return null;
  return (
    <section aria-label="Run again">
      <div className={controls.offer}>
        <button
          type="button"
          className={controls.button}
          disabled={start.isPending}
          onClick={() =>
            start.mutate({ kind: 'EXCLUSIVE', dataset: group.dataset, rows, output, where: null, edits: null })
          }
        >
          Run again without {rows.length === 1 ? 'this record' : `these ${rows.length} records`}
        </button>
        <button type="button" className={controls.button} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Other replays
        </button>
        <p>The jobs run again into a shadow folder. The real data stays unchanged.</p>
      </div>
      {start.error && <ErrorNote error={start.error} />}
      {isOpen && (
        <ReplayForm
          output={output}
          source={{ dataset: group.dataset, rows }}
          target={{ dataset: output, rows: rowsOf(selected) }}
          onStart={onStart}
        />
      )}
    </section>
  );
}

/** A replay on the page of its trace: the reader stays at the record, and sees the progress and the result. */
function ShownReplay({ id, location }: { id: string; location: Location }) {
  return (
    <section className={styles.replay} aria-label="Replay of this trace">
      <header>
        <h2>Replay</h2>
        <Link to={{ ...HOME, page: 'replays', item: id }}>Open on its own page</Link>
        <Link to={definedParts<Location>({ ...location, replay: undefined })}>Close</Link>
      </header>
      <ReplayView id={id} />
    </section>
  );
}

function rowsOf(records: readonly ReachedRecord[]): RowRef[] {
  return records.flatMap(({ file, row }) => (file === null || row === null ? [] : [{ file, row }]));
}
