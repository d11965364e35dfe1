import { useState } from 'react';
import { columnsOf } from '../../facts/schema';
import { columnId } from '../../graph/ids';
import { useNode } from '../../hooks/useLineage';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { ColumnLineage } from '../DatasetDetails/DatasetDetails';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

/** The columns of a dataset, and the lineage of one of them. */
export function ColumnsPage({ dataset }: DatasetPageProps) {
  const { data, error, isPending, refetch } = useNode(dataset);
  const [column, setColumn] = useState<string>();
  const columns = columnsOf(data?.properties);
  return (
    <div className={styles.tab}>
      <section className={styles.section} aria-labelledby="columns">
        <h2 id="columns">
          {columns.length.toLocaleString('en')} {columns.length === 1 ? 'column' : 'columns'}
        </h2>
        {error && <ErrorNote error={error} onRetry={() => refetch()} />}
        {isPending && <Skeleton label="Loading the columns" rows={6} />}
        {data && columns.length === 0 && <p className={styles.lead}>No run reported the columns.</p>}
        {columns.length > 0 && (
          <Table
            label="Columns in their order"
            titles={['Column', 'Type', 'Description', 'Lineage']}
            rows={columns.map(({ name, type, description }) => ({
              key: name,
              cells: [
                name,
                <code key="type">{type}</code>,
                description,
                <span key="lineage" className={styles.inline}>
                  <button
                    type="button"
                    aria-expanded={column === name}
                    aria-label={`${column === name ? 'Hide' : 'Show'} the lineage of ${name}`}
                    onClick={() => setColumn(column === name ? undefined : name)}
                  >
                    {column === name ? 'Hide' : 'Show'}
                  </button>
                </span>,
              ],
            }))}
          />
        )}
      </section>
      {column !== undefined && (
        <section className={styles.section} aria-labelledby="column">
          <h2 id="column">Lineage of {column}</h2>
          <ColumnLineage column={columnId(dataset, column)} />
        </section>
      )}
    </div>
  );
}
