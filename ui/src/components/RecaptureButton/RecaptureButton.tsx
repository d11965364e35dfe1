import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ago } from '../../facts/time';
import { parseId } from '../../graph/ids';
import { baseName } from '../../graph/names';
import { useRecapture } from '../../hooks/useRecapture';
import { LARGE_TRACES } from '../../hooks/useTrace';
import { isRunning } from '../../hooks/useTraceJob';
import { ErrorNote, Note } from '../Note/Note';
import styles from './RecaptureButton.module.css';

interface RecaptureButtonProps {
  /** Id of a dataset at which a trace ended, since its program ran without record capture. */
  dataset: string;
}

/**
 * Runs the program that wrote a dataset once more, beside the real data, to find which records it was made of. The service names the
 * datasets for which the session may do that (`headwater serve --write-link`), and whose program is registered.
 */
export function RecaptureButton({ dataset }: RecaptureButtonProps) {
  const client = useQueryClient();
  const { recapture, start } = useRecapture(dataset);
  const name = baseName(parseId(dataset).parts.at(-1) ?? dataset);
  const state = recapture?.state;
  const ran = useRef(false);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each that ends while this is shown
  useEffect(() => {
    if (isRunning(state)) ran.current = true;
    else if (state === 'COMPLETE' && ran.current) {
      ran.current = false;
      // What was answered before may be answered by record now, large traces that were followed as jobs too.
      client.removeQueries({ queryKey: LARGE_TRACES });
      void client.invalidateQueries();
    }
  }, [state, recapture?.id]);

  if (isRunning(state)) {
    return (
      <Note title={`The program of ${name} runs again.`}>
        <p role="status">
          {state === 'QUEUED' ? 'It waits for its turn' : 'What it writes is compared with the real data'}, started{' '}
          {ago(recapture?.startedAt ?? '')}.
        </p>
      </Note>
    );
  }
  return (
    <div className={styles.recapture}>
      <button type="button" className={styles.button} disabled={start.isPending} onClick={() => start.mutate()}>
        Find the records of {name}
      </button>
      <p>Its program ran without record capture. It runs again beside the real data, which stays as it is.</p>
      {start.error && <ErrorNote error={start.error} />}
      {state === 'FAILED' && <Note tone="bad" title={recapture?.error ?? 'The last time, this failed.'} />}
    </div>
  );
}
