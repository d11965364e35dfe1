import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { DescribedColumnsDocument, type DescribedFragment } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { columnsOf } from '../../facts/schema';
import { columnId } from '../../graph/ids';
import { useNode } from '../../hooks/useLineage';
import { HOME } from '../../location/location';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { ActionLine } from '../ActionLine/ActionLine';
import { Badge } from '../Badge/Badge';
import { Authors } from '../DescriptionEditor/Authors';
import { DescriptionEditor } from '../DescriptionEditor/DescriptionEditor';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';
import { ColumnView } from './ColumnView';

/** The columns of a dataset, and the lineage and the readers of the column that the address names. */
export function ColumnsPage({ dataset, location: { item: column } }: DatasetPageProps) {
  const { data, error, isPending, refetch } = useNode(dataset);
  const [details, setDetails] = useState<string>();
  const described = useQuery(queryOf(DescribedColumnsDocument, { id: dataset })).data?.node?.children.nodes ?? [];
  const nodes = new Map(described.map((node) => [node.name, node]));
  const chosen = nodes.get(details ?? '');
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
            titles={['Column', 'Type', 'Description', 'Owners, tags and terms', 'Lineage and readers']}
            rows={columns.map(({ name, type, description }) => ({
              key: name,
              cells: [
                name,
                <code key="type">{type}</code>,
                nodes.get(name)?.descriptions.description ?? description,
                <span key="labels" className={styles.inline}>
                  <Labels descriptions={nodes.get(name)?.descriptions} />
                  {nodes.has(name) && (
                    <button
                      type="button"
                      aria-expanded={details === name}
                      aria-label={`${details === name ? 'Hide the details' : 'Details'} of ${name}`}
                      onClick={() => setDetails(details === name ? undefined : name)}
                    >
                      {details === name ? 'Hide' : 'Details'}
                    </button>
                  )}
                </span>,
                <Link
                  key="lineage"
                  to={{ ...HOME, dataset, page: 'columns', ...(column !== name && { item: name }) }}
                  aria-current={column === name ? 'true' : undefined}
                  aria-label={`${column === name ? 'Hide' : 'Show'} the lineage and the readers of ${name}`}
                >
                  {column === name ? 'Hide' : 'Show'}
                </Link>,
              ],
            }))}
          />
        )}
      </section>
      {chosen && (
        <section className={styles.section} aria-labelledby="details">
          <h2 id="details">What describes {chosen.name}</h2>
          {chosen.descriptions.statements.length === 0 && (
            <p className={styles.lead}>Nobody stated an owner, a tag or a term of this column.</p>
          )}
          <ActionLine>
            <DescriptionEditor
              key={chosen.id}
              node={chosen.id}
              name={`the column ${chosen.name}`}
              descriptions={chosen.descriptions}
              stale={[DescribedColumnsDocument]}
            />
          </ActionLine>
          <Authors statements={chosen.descriptions.statements} />
        </section>
      )}
      {column !== undefined && <ColumnView key={column} column={columnId(dataset, column)} />}
    </div>
  );
}

function Labels({ descriptions }: { descriptions: DescribedFragment['descriptions'] | undefined }) {
  if (!descriptions) return null;
  const { owners, tags, terms } = descriptions;
  return (
    <>
      {owners.length > 0 && <span>{owners.join(', ')}</span>}
      {tags.map((tag) => (
        <Badge key={`tag ${tag}`}>{tag}</Badge>
      ))}
      {terms.map((term) => (
        <Badge key={`term ${term}`} tone="accent">
          {term}
        </Badge>
      ))}
    </>
  );
}
