import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { AboutDocument } from '../../api/generated/first/graphql';
import { queryOf } from '../../api/query';
import { namespaceOf } from '../../facts/datasets';
import { type FacetRow, otherFacetsOf, producersOf, storageOf } from '../../facts/facets';
import { type Properties, properties, text } from '../../facts/read';
import { schemaOf } from '../../facts/schema';
import { sizeText } from '../../facts/size';
import { pathOf } from '../../graph/names';
import { HOME } from '../../location/location';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Authors } from '../DescriptionEditor/Authors';
import { Descriptions } from '../Descriptions/Descriptions';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';
import own from './AboutPage.module.css';

/** Everything that people and producers state of a dataset: documentation, owners, tags and terms, storage, schema and further facets. */
export function AboutPage({ dataset }: DatasetPageProps) {
  const { data, error, isPending, refetch } = useQuery(queryOf(AboutDocument, { id: dataset }));
  const node = data?.node;
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (isPending) return <Skeleton label="Loading the facts" rows={6} />;
  if (!node) return <Note title="Nothing is known of this dataset.">No captured run read or wrote it.</Note>;
  const facts = properties(node.properties);
  const { description, owners, stewards, tags, terms } = node.descriptions;
  const isDescribed = description !== null || [owners, stewards, tags, terms].some((names) => names.length > 0);
  const { size } = node.facts;
  const facets = otherFacetsOf(facts);
  return (
    <div className={styles.tab}>
      <section className={styles.section} aria-labelledby="documentation">
        <h2 id="documentation">Documentation</h2>
        {isDescribed ? (
          <Descriptions descriptions={node.descriptions} />
        ) : (
          <p className={styles.lead}>Nobody stated a description, an owner, a tag or a term.</p>
        )}
        <Authors statements={node.descriptions.statements} />
      </section>
      <section className={styles.section} aria-labelledby="storage">
        <h2 id="storage">Storage</h2>
        <Rows
          rows={[
            ['Namespace', namespaceOf(dataset)],
            ['Name', pathOf(dataset)],
            ...storageOf(facts).map(({ label, value }): [string, ReactNode] => [label, value]),
            ['Schema', schemaOf(facts).length > 0 && <Schema key="schema" dataset={dataset} facts={facts} />],
            ['Size', size && sizeText(size)],
            ['Written', size?.at && <Instant key="written" at={size.at} />],
          ]}
        />
      </section>
      {facets.length > 0 && (
        <section className={styles.section} aria-labelledby="facets">
          <h2 id="facets">Facets</h2>
          <p className={styles.lead}>The facets that producers state, in their own form.</p>
          {facets.map(({ label, value }) => (
            <details key={label} className={own.facet}>
              <summary>{label}</summary>
              <pre>{value}</pre>
            </details>
          ))}
        </section>
      )}
      <Producers rows={producersOf(facts)} />
    </div>
  );
}

function Rows({ rows }: { rows: readonly [label: string, value: ReactNode][] }) {
  return (
    <dl className={own.rows}>
      {rows
        .filter(([, value]) => value)
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** The number of columns, and the tool that stated them. */
function Schema({ dataset, facts }: { dataset: string; facts: Properties }) {
  const count = schemaOf(facts).length;
  if (count === 0) return null;
  const producer = text(properties(facts.schema)._producer);
  return (
    <>
      <Link to={{ ...HOME, dataset, page: 'columns' }}>
        {count.toLocaleString('en')} {count === 1 ? 'column' : 'columns'}
      </Link>
      {producer && `, stated by ${producer}`}
    </>
  );
}

/** Producers are addresses of tools. A text of a producer is no link. */
function Producers({ rows }: { rows: readonly FacetRow[] }) {
  if (rows.length === 0) return null;
  return (
    <section className={styles.section} aria-labelledby="producers">
      <h2 id="producers">Stated by</h2>
      <Table
        label="Producers of the facets"
        titles={['Producer', 'Facets']}
        rows={rows.map(({ label, value }) => ({ key: value, cells: [value, label] }))}
      />
    </section>
  );
}
