import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import { ViewDocument, type ViewQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { RequestError } from '../../api/request';
import { asSentence } from '../../facts/text';
import { flowOfView } from '../../graph/view';
import { atCoarseLevels, DEPTH, isWhole, type ViewChoice, viewInput, WHOLE } from '../../graph/zoom';
import { type DrawnPart, useFlowDraft, useViewDraft } from '../../hooks/useDraft';
import { useLineage } from '../../hooks/useLineage';
import { navigate } from '../../hooks/useLocation';
import type { Location } from '../../location/location';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { ViewControls } from '../ViewControls/ViewControls';
import styles from './DatasetFlow.module.css';
import { FlowGraph } from './FlowGraph';
import { ViewNotes } from './ViewNotes';

/** Larger than the number of cards, so that a drawing can grow. */
const MAX_NODES = 600;
const NO_VIEW: Pick<ViewQuery['view'], 'nodes' | 'edges'> = { nodes: [], edges: [] };
const NO_LINEAGE = { nodes: [], edges: [], truncated: 0 };

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
  const { drawing, isLoading, error, refetch } = useDrawing(location, dataset);
  return (
    <>
      <ViewControls choice={view ?? WHOLE} onChange={show} />
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
          <FlowGraph
            draft={drawing.draft}
            location={location}
            view={drawing.view}
            choice={drawing.choice}
            onChoice={show}
            isLoading={isLoading}
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

/** The drawing for an address, or the last one while the drawing loads. */
function useDrawing(location: Location, dataset: string) {
  const { view, grown, steps, cards, former = false } = location;
  const choice = view ?? WHOLE;
  const lineage = useLineage(dataset, 'BOTH', { enabled: view === undefined, ...(cards && { cards }) });
  const input = viewInput(choice, dataset);
  const answer = useQuery({
    ...queryOf(ViewDocument, { view: input, first: Math.max(MAX_NODES, 2 * (cards ?? 0)) }),
    enabled: view !== undefined,
  });
  const nearest = useFlowDraft({
    graph: lineage.data ?? NO_LINEAGE,
    focus: dataset,
    growth: grown,
    depth: steps,
    first: cards,
    isFormerShown: former,
  });
  const chosen = useChosenView(answer.data?.view ?? NO_VIEW, choice, location);
  const { error, refetch } = view ? answer : lineage;
  const ready = view ? answer.data?.view : lineage.data;
  const drawing = useLatest(
    ready && {
      draft: view ? chosen : nearest,
      choice,
      view: view && input,
      answer: view && answer.data?.view,
    },
  );
  return { drawing, isLoading: ready === undefined, error, refetch };
}

function useChosenView(
  { nodes, edges }: Pick<ViewQuery['view'], 'nodes' | 'edges'>,
  choice: ViewChoice,
  { grown, steps, cards, former }: Location,
): DrawnPart {
  const flow = useMemo(() => {
    const { open = [], depth = DEPTH } = choice;
    return flowOfView(nodes, edges, { open: open.map(({ id }) => id), depth });
  }, [nodes, edges, choice]);
  return useViewDraft(flow, { growth: grown, depth: steps, first: cards, isFormerShown: former });
}

/** The value, or the last one if there is none now. */
function useLatest<Value>(value: Value | undefined): Value | undefined {
  const latest = useRef(value);
  useEffect(() => {
    if (value !== undefined) latest.current = value;
  });
  return value ?? latest.current;
}
