import { hasFailed } from '../../facts/runs';
import { instantText } from '../../facts/time';
import { parseId } from '../../graph/ids';
import { baseName } from '../../graph/names';
import { useLastRun } from '../../hooks/useDatasets';
import { navigate } from '../../hooks/useLocation';
import { type Row, type RowPage, rowValues, useRows } from '../../hooks/useRows';
import { HOME, type Location } from '../../location/location';
import { exampleFor } from '../../trace/predicate';
import type { SortOrder } from '../../trace/sorting';
import { Badge } from '../Badge/Badge';
import { Breadcrumb } from '../Breadcrumb/Breadcrumb';
import { DatasetFlow } from '../DatasetFlow/DatasetFlow';
import { FilterBox } from '../FilterBox/FilterBox';
import { Note } from '../Note/Note';
import { RowTable } from '../RowTable/RowTable';
import styles from './DatasetPage.module.css';

interface DatasetPageProps {
  location: Location;
  /** Id of the dataset. */
  dataset: string;
}

/** The rows of a dataset and its lineage. A click on a cell traces it. */
export function DatasetPage({ location, dataset }: DatasetPageProps) {
  const path = parseId(dataset).parts.at(-1) ?? dataset;
  const name = baseName(path);
  const { where, sort } = location;
  const request = { dataset, where, sort };
  const { first, total } = useRows(request, 0, 0);

  const isReadable = first.data === undefined || first.data.columns.length > 0;
  const firstRow = first.data?.rows[0];
  const example = exampleFor(first.data && firstRow ? rowValues(first.data, firstRow) : {});

  const trace = (row: Row, column?: string) =>
    navigate({ ...HOME, dataset, file: row.file, row: row.row, ...(column === undefined ? {} : { column }) });
  const filter = (next: string | undefined) => {
    const { where: _, ...rest } = location;
    navigate(next ? { ...rest, where: next } : rest);
  };
  const order = (next: SortOrder | undefined) => {
    const { sort: _, ...rest } = location;
    navigate(next ? { ...rest, sort: next } : rest);
  };

  return (
    <div className={styles.page}>
      <header>
        <Breadcrumb steps={[{ label: 'Datasets', to: HOME }, { label: name }]} />
        <div className={styles.title}>
          <h1>{name}</h1>
          {first.data && isReadable && (
            <Facts page={first.data} filtered={location.where !== undefined} total={total} />
          )}
        </div>
        <p className={styles.path}>{path}</p>
      </header>
      <Failure dataset={dataset} />
      {first.data?.note && (
        <Note tone="warn" {...(isReadable ? {} : { title: 'The rows cannot be shown' })}>
          {first.data.note}
        </Note>
      )}
      {isReadable && (location.where || !first.isError) && (
        <div className={styles.tools}>
          <FilterBox
            key={location.where}
            value={location.where}
            onChange={filter}
            error={location.where && first.isError ? first.error : null}
            example={example}
          />
          <p className={styles.invite}>Click a value or the number of a row to see where it came from.</p>
        </div>
      )}
      {isReadable && <RowTable request={request} onSort={order} onTrace={trace} />}
      <section className={styles.section} aria-labelledby="flow">
        <h2 id="flow">Lineage</h2>
        <DatasetFlow location={location} dataset={dataset} />
      </section>
    </div>
  );
}

/** A note if the last run that writes the dataset failed. */
function Failure({ dataset }: { dataset: string }) {
  const run = useLastRun(dataset);
  if (!run || !hasFailed(run)) return null;
  return (
    <Note tone="warn" title="The last run that writes this dataset failed">
      <p>{run.error ?? 'The run gave no reason.'}</p>
      <p>
        The rows below are from an earlier run, or from a part of this run
        {run.started && `, which started at ${instantText(run.started)}`}.
      </p>
    </Note>
  );
}

interface FactsProps {
  page: RowPage;
  filtered: boolean;
  total: number;
}

function Facts({ page, filtered, total }: FactsProps) {
  return (
    <>
      <Badge>
        {total.toLocaleString('en')} {total === 1 ? 'row' : 'rows'}
        {filtered && ' that match'}
      </Badge>
      {page.hasRecordLineage ? (
        <Badge tone="good" icon="check" title="Each record can be traced to its source records.">
          record lineage
        </Badge>
      ) : (
        <Badge tone="coarse" title="A trace of its records finds datasets, not records.">
          no record lineage
        </Badge>
      )}
    </>
  );
}
