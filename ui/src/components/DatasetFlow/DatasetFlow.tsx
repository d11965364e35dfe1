import { isWhole, type ViewChoice, viewInput, WHOLE } from '../../graph/zoom';
import { DEPTH, useLineage } from '../../hooks/useLineage';
import { navigate } from '../../hooks/useLocation';
import { useView } from '../../hooks/useView';
import type { Location } from '../../location/location';
import { LineageGraph, ViewGraph } from '../Graphs/Graphs';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { ViewControls } from '../ViewControls/ViewControls';

interface DatasetFlowProps {
  location: Location;
  /** Id of the dataset. */
  dataset: string;
}

/** What a dataset came from, and what it went into: the nearest datasets and jobs, or what the reader chose to see of them. */
export function DatasetFlow({ location, dataset }: DatasetFlowProps) {
  const draw = (next: ViewChoice) => {
    const { view: _, ...rest } = location;
    navigate(isWhole(next) ? rest : { ...rest, view: next });
  };
  return (
    <>
      <ViewControls choice={location.view ?? WHOLE} onChange={draw} />
      {location.view ? (
        <Chosen choice={location.view} dataset={dataset} />
      ) : (
        <Whole location={location} dataset={dataset} />
      )}
    </>
  );
}

function Whole({ location, dataset }: DatasetFlowProps) {
  const { data, error, isPending, refetch } = useLineage(dataset, 'BOTH');
  return (
    <>
      {isPending && <Skeleton label="Loading the lineage" rows={4} />}
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {data && data.nodes.length > 0 && (
        <LineageGraph
          graph={data}
          focus={dataset}
          grown={location.grown}
          onGrow={(grown) => navigate({ ...location, grown })}
        />
      )}
      {data && data.nodes.length === 0 && (
        <Note>
          Nothing is known of this dataset: no run that was captured has read or written it. Find another by its name
          above, or run a job that does with headwater run.
        </Note>
      )}
    </>
  );
}

function Chosen({ choice, dataset }: { choice: ViewChoice; dataset: string }) {
  const view = viewInput(choice, dataset, DEPTH);
  const { data, error, isPending, refetch } = useView(view);
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  return (
    <>
      {isPending && <Skeleton label="Loading the lineage" rows={4} />}
      {data && <ViewGraph shown={data} view={view} />}
    </>
  );
}
