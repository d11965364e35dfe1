import { hasFailed } from '../../facts/runs';
import { asSentence } from '../../facts/text';
import { instantText } from '../../facts/time';
import { useLastRun } from '../../hooks/useDatasets';
import { navigate } from '../../hooks/useLocation';
import { type Row, rowValues, useRows } from '../../hooks/useRows';
import { definedParts, HOME, type Location } from '../../location/location';
import type { DatasetPageProps } from '../../pages';
import { exampleFor } from '../../trace/predicate';
import type { SortOrder } from '../../trace/sorting';
import { DatasetFlow } from '../DatasetFlow/DatasetFlow';
import { FilterBox } from '../FilterBox/FilterBox';
import { Link } from '../Link/Link';
import { Note } from '../Note/Note';
import { RowTable } from '../RowTable/RowTable';
import styles from './DatasetRows.module.css';

/** The rows of a dataset and its lineage. A click on a cell traces it. */
export function DatasetRows({ location, dataset }: DatasetPageProps) {
  const { where, sort } = location;
  const request = { dataset, where, sort };
  const { first } = useRows(request, 0, 0);
  const isReadable = first.data === undefined || first.data.columns.length > 0;
  const firstRow = first.data?.rows[0];
  const example = exampleFor(first.data && firstRow ? rowValues(first.data, firstRow) : {});
  const trace = (row: Row, column?: string) =>
    navigate({ ...HOME, dataset, file: row.file, row: row.row, ...(column === undefined ? {} : { column }) });
  /** Change the predicate or the order. Undefined removes it. */
  const change = (part: { where: string | undefined } | { sort: SortOrder | undefined }) =>
    navigate(definedParts<Location>({ ...location, ...part }));
  return (
    <>
      <Failure dataset={dataset} hasRows={isReadable} />
      {first.data?.note && isReadable && <Note tone="warn">{asSentence(first.data.note)}</Note>}
      {isReadable && (where || !first.isError) && (
        <div className={styles.tools}>
          <FilterBox
            value={where}
            onChange={(predicate) => change({ where: predicate })}
            error={where && first.isError ? first.error : null}
            example={example}
          />
          <p className={styles.invite}>Click a value or the number of a row to see where it came from.</p>
        </div>
      )}
      {isReadable && <RowTable request={request} onSort={(order) => change({ sort: order })} onTrace={trace} />}
      <section className={styles.section} aria-labelledby="flow">
        <h2 id="flow">Lineage</h2>
        <DatasetFlow location={location} dataset={dataset} />
      </section>
      {first.data?.note && !isReadable && (
        <p className={styles.unreadable}>
          <b>The rows are not shown.</b> {asSentence(first.data.note)}
        </p>
      )}
    </>
  );
}

/** A note if the last run that writes the dataset failed. */
function Failure({ dataset, hasRows }: { dataset: string; hasRows: boolean }) {
  const run = useLastRun(dataset);
  if (!run || !hasFailed(run)) return null;
  return (
    <Note tone="warn" title="The last run that writes this dataset failed">
      <p>{run.error ? asSentence(run.error) : 'The run gave no reason.'}</p>
      <p>
        {hasRows && 'The rows below are from an earlier run, or from a part of this run. '}
        {run.started && `The run started at ${instantText(run.started)}.`}{' '}
        <Link to={{ ...HOME, page: 'run', item: run.id }}>Open the run</Link>
      </p>
    </Note>
  );
}
