import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  ColumnAccessDocument,
  type ColumnAccessQuery,
  DatasetReadersDocument,
  ImpactDocument,
  type ImpactQuery,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { namespaceOf } from '../../facts/datasets';
import { counted } from '../../facts/text';
import { datasetOfColumn, nameOfColumn } from '../../graph/ids';
import { jobTitleOf, pathOf } from '../../graph/names';
import { useSession } from '../../hooks/useSession';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { AuditLog } from '../AuditLog/AuditLog';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

type Access = ColumnAccessQuery['fieldAccess'][number];
type Related = ImpactQuery['impact']['rows'][number];

/** Columns of each list. The Impact tab has all of them for the dataset. */
const SHOWN = 200;
const READER_DAYS = 90;
const DAY_MS = 86_400_000;
const WORDS: Record<Access['kind'], string> = { READ: 'read', WRITE: 'wrote', CREATE: 'created', DROP: 'dropped' };

/** One column: where its values come from, what depends on it, and who reads it. */
export function ColumnView({ column }: { column: string }) {
  const name = nameOfColumn(column);
  return (
    <>
      <RelatedColumns
        column={column}
        direction="UPSTREAM"
        title={`What ${name} comes from`}
        none="No run reported a column from which it comes."
      />
      <RelatedColumns
        column={column}
        direction="DOWNSTREAM"
        title={`What breaks without ${name}`}
        none="No run reported a column that is made from it."
      />
      <Accesses column={column} />
    </>
  );
}

interface RelatedColumnsProps {
  column: string;
  direction: 'UPSTREAM' | 'DOWNSTREAM';
  title: string;
  none: string;
}

function RelatedColumns({ column, direction, title, none }: RelatedColumnsProps) {
  const { data, error, refetch } = useQuery(
    queryOf(ImpactDocument, { focus: [column], direction, first: SHOWN, after: null }),
  );
  const { rows = [], total = 0, beyond = 0, former = 0, reasons = [] } = data?.impact ?? {};
  const columns = rows.filter(({ node }) => node.kind === 'COLUMN');
  const datasets = new Set(columns.map(({ node }) => datasetOfColumn(node.id))).size;
  return (
    <section className={styles.section} aria-labelledby={direction}>
      <h2 id={direction}>{title}</h2>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {!data && !error && <Skeleton label="Loading the columns" rows={3} />}
      {data && (
        <p className={styles.lead} role="status">
          {columns.length === 0
            ? none
            : `${counted(columns.length, 'column')} in ${counted(datasets, 'dataset')}${total > rows.length ? `, the nearest of ${total.toLocaleString('en')}` : ''}.`}
        </p>
      )}
      {beyond > 0 && <Note tone="warn">At least {beyond.toLocaleString('en')} more are further away.</Note>}
      {former > 0 && <Note>{former.toLocaleString('en')} more only through links that their jobs have given up.</Note>}
      {reasons.map((reason) => (
        <Note key={reason} tone="warn">
          {reason}
        </Note>
      ))}
      {columns.length > 0 && (
        <Table
          label={title}
          titles={['Column', 'Dataset', 'Namespace', 'Steps', 'Owners', 'Last run']}
          rows={columns.map((each) => ({ key: each.node.id, cells: cellsOf(each) }))}
        />
      )}
    </section>
  );
}

function cellsOf({ node, distance, owners, lastRun, updated }: Related) {
  const dataset = datasetOfColumn(node.id);
  const name = nameOfColumn(node.id);
  return [
    <Link key="column" to={{ ...HOME, dataset, page: 'columns', item: name }}>
      {name}
    </Link>,
    <Link key="dataset" to={{ ...HOME, dataset }}>
      {pathOf(dataset)}
    </Link>,
    namespaceOf(dataset),
    distance,
    owners.join(', '),
    updated &&
      (lastRun ? (
        <Link key="run" to={{ ...HOME, page: 'run', item: lastRun }}>
          <Instant at={updated} relative />
        </Link>
      ) : (
        <Instant key="run" at={updated} relative />
      )),
  ];
}

function Accesses({ column }: { column: string }) {
  const { scopes } = useSession();
  const { data, error, refetch } = useQuery(queryOf(ColumnAccessDocument, { column }));
  const accesses = data?.fieldAccess ?? [];
  const tags = data?.fieldLineage.tags ?? [];
  return (
    <>
      <section className={styles.section} aria-labelledby="access">
        <h2 id="access">Who read or wrote it</h2>
        {error && <ErrorNote error={error} onRetry={() => refetch()} />}
        {!data && !error && <Skeleton label="Loading the jobs" rows={3} />}
        {tags.length > 0 && (
          <p className={styles.lead}>
            Its tags, with those of the columns from which it comes:{' '}
            {[...new Set(tags.map(({ tag }) => tag))].join(', ')}.
          </p>
        )}
        {data && accesses.length === 0 && <p className={styles.lead}>No run reported that it used this column.</p>}
        {accesses.length > 0 && (
          <Table
            label="Jobs that used the column, the earliest first"
            titles={['Job', 'What', 'First', 'Last', 'Runs']}
            rows={accesses.map((each) => ({ key: `${each.job} ${each.kind}`, cells: cellsOfAccess(each) }))}
          />
        )}
        {!scopes.includes('audit') && (
          <p className={styles.lead}>
            A session with the role auditor also sees here which people and keys read the records.
          </p>
        )}
      </section>
      {scopes.includes('audit') && <Readers dataset={datasetOfColumn(column)} />}
      {scopes.includes('audit') && <AuditLog dataset={pathOf(datasetOfColumn(column))} />}
    </>
  );
}

function cellsOfAccess({ job, kind, decidesOnly, first, last, runs, certain }: Access) {
  const lastRun = runs.at(-1);
  return [
    <Link key="job" to={{ ...HOME, page: 'job', item: job }}>
      {jobTitleOf(job)}
    </Link>,
    `${certain ? '' : 'perhaps '}${WORDS[kind]}${decidesOnly ? ', to choose rows only' : ''}`,
    first && <Instant key="first" at={first} />,
    last &&
      (lastRun ? (
        <Link key="last" to={{ ...HOME, page: 'run', item: lastRun }}>
          <Instant at={last} />
        </Link>
      ) : (
        <Instant key="last" at={last} />
      )),
    runs.length.toLocaleString('en'),
  ];
}

/** The people and keys that got records of the dataset. The audit log names no columns. */
function Readers({ dataset }: { dataset: string }) {
  const { token } = useSession();
  const [since] = useState(() => new Date(Date.now() - READER_DAYS * DAY_MS).toISOString());
  const { data, error, refetch } = useQuery(queryOf(DatasetReadersDocument, { dataset, since }, token));
  const { readers = [], uncertain = 0, damaged = 0, searchedBackTo } = data?.datasetReaders ?? {};
  return (
    <section className={styles.section} aria-labelledby="readers">
      <h2 id="readers">Who read records of its dataset</h2>
      <p className={styles.lead}>
        People and keys of the last {READER_DAYS} days. A mask can have hidden the column from them.
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {!data && !error && <Skeleton label="Loading the readers" rows={2} />}
      {data && readers.length === 0 && <p className={styles.lead}>Nobody got records of the dataset.</p>}
      {readers.length > 0 && (
        <Table
          label="People and keys that got records of the dataset"
          titles={['Who', 'How', 'Answers', 'Records', 'First', 'Last']}
          rows={readers.map(({ who, operations, answers, records, first, last }) => ({
            key: who,
            cells: [
              who,
              operations.join(', '),
              answers.toLocaleString('en'),
              records.toLocaleString('en'),
              <Instant key="first" at={first} />,
              <Instant key="last" at={last} />,
            ],
          }))}
        />
      )}
      {uncertain > 0 && (
        <Note>
          {counted(uncertain, 'answer')} had records of more datasets than the log names, perhaps of this one.
        </Note>
      )}
      {damaged > 0 && <Note tone="warn">{counted(damaged, 'line')} of the audit log cannot be read.</Note>}
      {searchedBackTo && (
        <Note tone="warn">
          The log was searched back to <Instant at={searchedBackTo} /> only.
        </Note>
      )}
    </section>
  );
}
