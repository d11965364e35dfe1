import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { RecapturesDocument, StartRecaptureDocument } from '../../api/generated/first/graphql';
import { queryOf } from '../../api/query';
import { ago } from '../../facts/time';
import { titleOf } from '../../graph/names';
import { useChange } from '../../hooks/useChange';
import { LARGE_TRACES } from '../../hooks/useTrace';
import { isRunning } from '../../hooks/useTraceJob';
import { ErrorNote, Note } from '../Note/Note';
import styles from './RecaptureButton.module.css';

const REFRESH_MS = 1000;

interface RecaptureButtonProps {
  /** Id of a dataset without record lineage, where a trace ended. */
  dataset: string;
}

/**
 * Finds the record lineage of a dataset: the service runs its program again next to the real data. The service offers this for registered
 * programs, in a session with the scope `replay` (`headwater serve --write-link`).
 */
export function RecaptureButton({ dataset }: RecaptureButtonProps) {
  const client = useQueryClient();
  const { data } = useQuery({
    ...queryOf(RecapturesDocument, {}),
    refetchInterval: (query) =>
      query.state.data?.recaptures.some(({ state }) => isRunning(state)) ? REFRESH_MS : false,
  });
  const recapture = data?.recaptures.find((each) => each.dataset === dataset);
  const start = useChange(StartRecaptureDocument, { stale: [RecapturesDocument] });
  const name = titleOf(dataset);
  const state = recapture?.state;
  const ran = useRef(false);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each recapture
  useEffect(() => {
    if (isRunning(state)) ran.current = true;
    else if (state === 'COMPLETE' && ran.current) {
      ran.current = false;
      // All answers can be finer now, also those of large traces.
      client.removeQueries({ queryKey: LARGE_TRACES });
      void client.invalidateQueries();
    }
  }, [state, recapture?.id]);

  if (isRunning(state)) {
    return (
      <Note title={`The program of ${name} runs again.`}>
        <p role="status">
          {state === 'QUEUED' ? 'It waits for its turn' : 'Its output will be compared with the real data'}, started{' '}
          {ago(recapture?.startedAt ?? '')}.
        </p>
      </Note>
    );
  }
  return (
    <div className={styles.recapture}>
      <button
        type="button"
        className={styles.button}
        disabled={start.isPending}
        onClick={() => start.mutate({ dataset })}
      >
        Find the records of {name}
      </button>
      <p>Its program ran without record capture. It can run again next to the real data, which stays unchanged.</p>
      {start.error && <ErrorNote error={start.error} />}
      {state === 'FAILED' && <Note tone="bad" title={recapture?.error ?? 'The last attempt failed.'} />}
    </div>
  );
}
