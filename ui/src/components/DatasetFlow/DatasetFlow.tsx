import { useRef } from 'react';
import { RequestError } from '../../api/request';
import { asSentence } from '../../facts/text';
import type { Scene } from '../../graph/scene';
import { atCoarseLevels, isWhole, type ViewChoice, WHOLE } from '../../graph/zoom';
import { useDrawing } from '../../hooks/useDrawing';
import { navigate } from '../../hooks/useLocation';
import type { Location } from '../../location/location';
import { ChangeSummary } from '../ChangeSummary/ChangeSummary';
import { LineageExport } from '../LineageExport/LineageExport';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { TimeControls } from '../TimeControls/TimeControls';
import { ViewControls } from '../ViewControls/ViewControls';
import styles from './DatasetFlow.module.css';
import { FlowGraph } from './FlowGraph';
import { ViewNotes } from './ViewNotes';

interface DatasetFlowProps {
  location: Location;
  /** Id of the dataset. */
  dataset: string;
}

/**
 * The lineage of a dataset at the levels that the reader chose. The default shows the nearest datasets and jobs, for which a smaller
 * question is enough. The graph stays on the page while the next answer loads.
 */
export function DatasetFlow({ location, dataset }: DatasetFlowProps) {
  const { view, ...rest } = location;
  const show = (next: ViewChoice) => navigate(isWhole(next) ? rest : { ...rest, view: next });
  const sceneRef = useRef<Scene | null>(null);
  const { drawing, jobs, isLoading, error, refetch } = useDrawing(location, dataset);
  return (
    <>
      <div className={styles.head}>
        <ViewControls choice={view ?? WHOLE} onChange={show} />
        {!error && drawing && <LineageExport dataset={dataset} drawing={drawing} sceneRef={sceneRef} />}
      </div>
      <TimeControls jobs={jobs} choice={view ?? WHOLE} onChange={show} />
      {error && <Refusal error={error} onRetry={() => refetch()} onReset={() => show(atCoarseLevels(view ?? WHOLE))} />}
      {!error && !drawing && <Skeleton label="Loading the lineage" rows={4} />}
      {!error && drawing?.draft.cards.length === 0 && (
        <Note>
          Headwater does not know this dataset: no captured run read or wrote it. Search for another dataset, or run a
          job with headwater run.
        </Note>
      )}
      {!error && drawing && drawing.draft.cards.length > 0 && (
        <>
          {drawing.changes && <ChangeSummary {...drawing.changes} />}
          <FlowGraph
            draft={drawing.draft}
            location={location}
            view={drawing.view}
            choice={drawing.choice}
            onChoice={show}
            isLoading={isLoading}
            sceneRef={sceneRef}
          />
          <div className={styles.notes}>
            {drawing.answer && (
              <ViewNotes answer={drawing.answer} draft={drawing.draft} choice={drawing.choice} onChoice={show} />
            )}
          </div>
        </>
      )}
    </>
  );
}

interface RefusalProps {
  error: Error;
  onRetry: () => void;
  /** Select levels that every lineage has. */
  onReset: () => void;
}

/** A lineage without an answer. A level that the lineage does not have is no fault, so the note is calm and offers another level. */
function Refusal({ error, onRetry, onReset }: RefusalProps) {
  const { field, hint } = error instanceof RequestError ? error.detail : {};
  if (field !== 'data' && field !== 'actors') return <ErrorNote error={error} onRetry={onRetry} />;
  return (
    <Note title={asSentence(error.message)}>
      {hint && <p>{asSentence(hint)}</p>}
      <button type="button" className={styles.continue} onClick={onReset}>
        Show datasets and jobs
      </button>
    </Note>
  );
}
