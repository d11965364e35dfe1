import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ViewDocument, type ViewInput, type ViewQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { MAX_CARDS } from '../../graph/neighbourhood';
import type { LineageGraph as Graph } from '../../graph/types';
import { isWhole, type ViewChoice, viewInput, WHOLE } from '../../graph/zoom';
import { useFlowDraft, useViewDraft } from '../../hooks/useDraft';
import { DEPTH, useLineage } from '../../hooks/useLineage';
import { navigate } from '../../hooks/useLocation';
import type { Location } from '../../location/location';
import { LineageGraph } from '../LineageGraph/LazyGraph';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { ViewControls } from '../ViewControls/ViewControls';
import styles from './DatasetFlow.module.css';

/** Larger than the number of cards, because the columns of a dataset share a card. */
const MAX_COLUMNS = 600;

interface DatasetFlowProps {
  location: Location;
  /** Id of the dataset. */
  dataset: string;
}

/** The lineage of a dataset: the nearest datasets and jobs, or a view that the reader chose. */
export function DatasetFlow({ location, dataset }: DatasetFlowProps) {
  const { view, ...rest } = location;
  const show = (choice: ViewChoice) => navigate(isWhole(choice) ? rest : { ...rest, view: choice });
  return (
    <>
      <ViewControls choice={view ?? WHOLE} onChange={show} />
      {view ? <View choice={view} dataset={dataset} /> : <Nearest location={location} dataset={dataset} />}
    </>
  );
}

function Nearest({ location, dataset }: DatasetFlowProps) {
  const { data, error, isPending, refetch } = useLineage(dataset, 'BOTH');
  if (isPending) return <Skeleton label="Loading the lineage" rows={4} />;
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (data.nodes.length > 0) return <NearestGraph graph={data} location={location} dataset={dataset} />;
  return (
    <Note>
      Headwater does not know this dataset: no captured run read or wrote it. Search for another dataset, or run a job
      with headwater run.
    </Note>
  );
}

function NearestGraph({ graph, location, dataset }: DatasetFlowProps & { graph: Graph }) {
  const draft = useFlowDraft({ graph, focus: dataset, growth: location.grown });
  return <FlowGraph draft={draft} location={location} />;
}

interface FlowGraphProps extends Omit<Parameters<typeof LineageGraph>[0], 'draft'> {
  draft: ReturnType<typeof useFlowDraft>;
  location: Location;
}

/** A graph that the reader can extend, and a note if it is full. */
export function FlowGraph({ draft, location, ...rest }: FlowGraphProps) {
  const growth = location.grown ?? [];
  return (
    <>
      <LineageGraph
        {...rest}
        draft={draft}
        centre={growth.at(-1)?.id}
        onGrow={draft.isFull ? undefined : (id, side) => navigate({ ...location, grown: [...growth, { id, side }] })}
      />
      {draft.isFull && (
        <div className={styles.notes}>
          <Note>
            The drawing is full: {draft.cards.length} cards are drawn. To continue from a dataset at the edge, select it
            and open its rows.
          </Note>
        </div>
      )}
    </>
  );
}

function View({ choice, dataset }: { choice: ViewChoice; dataset: string }) {
  const view = viewInput(choice, dataset, DEPTH);
  const first = view.data === 'COLUMN' ? MAX_COLUMNS : MAX_CARDS;
  const { data, error, isPending, refetch } = useQuery({
    ...queryOf(ViewDocument, { view, first }),
    placeholderData: keepPreviousData,
  });
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (isPending) return <Skeleton label="Loading the lineage" rows={4} />;
  return <ViewGraph answer={data.view} view={view} />;
}

function ViewGraph({ answer, view }: { answer: ViewQuery['view']; view: ViewInput }) {
  const draft = useViewDraft(answer);
  const { nodes, beyond } = answer.totals;
  return (
    <>
      <LineageGraph draft={draft} view={view} />
      <div className={styles.notes}>
        {nodes > draft.nodes && (
          <Note tone="warn">
            The nearest {draft.nodes.toLocaleString('en')} of {nodes.toLocaleString('en')} nodes are drawn. To see the
            rest, select a coarser level, or hide some nodes.
          </Note>
        )}
        {beyond > 0 && <Note tone="warn">At least {beyond.toLocaleString('en')} more nodes are further away.</Note>}
        {answer.notes.map((note) => (
          <Note key={note}>{note}</Note>
        ))}
      </div>
    </>
  );
}
