import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { EXPORT_SCOPE, provOfView } from '../../api/exports';
import { type Direction, ImpactDocument, type ImpactQuery } from '../../api/generated/graphql';
import { keyOf } from '../../api/query';
import { request, requestFile } from '../../api/request';
import { fullName, namespaceOf } from '../../facts/datasets';
import { downloadBlob, downloadText, tableAsCsv } from '../../facts/files';
import { jobTitleOf, titleOf } from '../../graph/names';
import { WHOLE } from '../../graph/zoom';
import { useSession } from '../../hooks/useSession';
import { HOME } from '../../location/location';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { ExportMenu } from '../ExportMenu/ExportMenu';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { ReportHead } from '../ReportHead/ReportHead';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

type Affected = ImpactQuery['impact']['rows'][number];

const PAGE_SIZE = 1000;
/** More nodes load on request. */
const AT_ONCE = 4000;
/** Levels between two datasets: a job. */
const HOPS = 2;
/** Rows of the table at once. The file contains all rows. */
const SHOWN = 200;
const DIRECTIONS = [
  { value: 'DOWNSTREAM', label: 'Affected', title: 'What depends on this dataset' },
  { value: 'UPSTREAM', label: 'Causes', title: 'What this dataset depends on' },
] as const;
const KINDS = [
  { value: 'DATASET', label: 'Datasets' },
  { value: 'JOB', label: 'Jobs' },
] as const;

/** What a change of the dataset affects, or what it depends on, as a list that can be saved. */
export function ImpactPage({ dataset }: DatasetPageProps) {
  const { scopes } = useSession();
  const [direction, setDirection] = useState<Direction>('DOWNSTREAM');
  const [kind, setKind] = useState<'DATASET' | 'JOB'>('DATASET');
  const [text, setText] = useState('');
  const [shown, setShown] = useState(SHOWN);
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: [...keyOf(ImpactDocument), dataset, direction],
    queryFn: ({ pageParam, signal }) =>
      request(ImpactDocument, { focus: [dataset], direction, first: PAGE_SIZE, after: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ impact }) => impact.cursor,
  });
  const loaded = data?.pages.reduce((sum, { impact }) => sum + impact.rows.length, 0) ?? 0;
  // The nearest nodes of a wide lineage are jobs alone, so one page is not enough.
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && loaded < AT_ONCE) fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, loaded, fetchNextPage]);
  const last = data?.pages.at(-1)?.impact;
  const all = data?.pages.flatMap(({ impact }) => impact.rows) ?? [];
  const provenance = {
    label: 'Provenance as PROV',
    hint: 'W3C PROV-JSON of the lineage on this side',
    save: async () => {
      const way = direction === 'DOWNSTREAM' ? 'downstream' : 'upstream';
      downloadBlob(`${fileName(dataset, direction)}.prov.json`, await requestFile(provOfView(dataset, WHOLE, way)));
    },
  };
  const needle = text.trim().toLowerCase();
  const rows = all.filter(({ node, owners }) => {
    if (node.kind !== kind) return false;
    return [node.id, node.name, ...owners].some((each) => each.toLowerCase().includes(needle));
  });
  return (
    <div className={styles.tab}>
      <section className={styles.section} aria-labelledby="impact">
        <h2 id="impact">{direction === 'DOWNSTREAM' ? 'What a change affects' : 'What it depends on'}</h2>
        <div className={styles.form}>
          <SegmentedControl label="Direction" options={DIRECTIONS} value={direction} onChange={setDirection} />
          <SegmentedControl label="Kind" options={KINDS} value={kind} onChange={setKind} />
          <label className={styles.wide}>
            <span className="visually-hidden">Find by name or owner</span>
            <input
              type="search"
              placeholder="Find by name or owner"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          </label>
          <ExportMenu
            kinds={[
              {
                label: 'List as CSV',
                hint: `${rows.length.toLocaleString('en')} rows with ids, owners, last runs and paths`,
                save: () => saveCsv(dataset, direction, rows),
              },
              { label: 'Report', hint: 'To print or to save as PDF', save: () => print() },
              ...(scopes.includes(EXPORT_SCOPE) ? [provenance] : []),
            ]}
          />
        </div>
        {error && <ErrorNote error={error} onRetry={() => refetch()} />}
        {isPending && <Skeleton label="Loading the impact" rows={6} />}
        <ReportHead
          facts={[
            ['Question', direction === 'DOWNSTREAM' ? 'What does a change affect?' : 'What does it depend on?'],
            ['Dataset', fullName(dataset)],
            ['Filter', text.trim() || undefined],
          ]}
        />
        {last && <Summary rows={rows.length} loaded={all.length} impact={last} kind={kind} />}
        {rows.length > 0 && (
          <Table
            label="Impact, the nearest first"
            titles={['Name', 'Where', 'Distance', 'Owners', 'Last run', 'Through']}
            rows={rows.slice(0, shown).map((row) => ({ key: row.node.id, cells: cellsOf(row) }))}
          />
        )}
        {rows.length > shown && (
          <p className={styles.actions}>
            <button type="button" onClick={() => setShown(shown + SHOWN)}>
              Show {Math.min(SHOWN, rows.length - shown).toLocaleString('en')} more
            </button>
          </p>
        )}
        {hasNextPage && (
          <p className={styles.actions}>
            <button type="button" disabled={isFetchingNextPage} onClick={() => fetchNextPage()}>
              Load more
            </button>
          </p>
        )}
      </section>
    </div>
  );
}

interface SummaryProps {
  rows: number;
  loaded: number;
  impact: ImpactQuery['impact'];
  kind: 'DATASET' | 'JOB';
}

function Summary({ rows, loaded, impact: { total, beyond, former, reasons }, kind }: SummaryProps) {
  const noun = kind === 'DATASET' ? 'dataset' : 'job';
  return (
    <>
      <p className={styles.lead} role="status">
        {rows.toLocaleString('en')} {rows === 1 ? noun : `${noun}s`}
        {loaded < total && ` among the nearest ${loaded.toLocaleString('en')} of ${total.toLocaleString('en')} nodes`}.
      </p>
      {beyond > 0 && <Note tone="warn">At least {beyond.toLocaleString('en')} more nodes are further away.</Note>}
      {former > 0 && <Note>{former.toLocaleString('en')} more only through links that their jobs have given up.</Note>}
      {reasons.map((reason) => (
        <Note key={reason} tone="warn">
          {reason}
        </Note>
      ))}
    </>
  );
}

function cellsOf({ node, distance, path, owners, lastRun, updated }: Affected) {
  const isDataset = node.kind === 'DATASET';
  return [
    <Link
      key="name"
      to={isDataset ? { ...HOME, dataset: node.id } : { ...HOME, page: 'job', item: node.id }}
      title={isDataset ? fullName(node.id) : node.name}
    >
      {titleOfNode(node)}
    </Link>,
    namespaceOf(node.id),
    distanceText(distance),
    owners.join(', '),
    updated &&
      (lastRun ? (
        <Link key="run" to={{ ...HOME, page: 'run', item: lastRun }}>
          <Instant at={updated} relative />
        </Link>
      ) : (
        <Instant key="run" at={updated} relative />
      )),
    throughOf(path).join(' → '),
  ];
}

function titleOfNode({ id, kind, name }: Affected['node']): string {
  return kind === 'DATASET' ? titleOf(id) : jobTitleOf(name);
}

/** The number of jobs on the way. */
function distanceText(distance: number): string {
  const jobs = Math.ceil(distance / HOPS);
  return `${jobs} ${jobs === 1 ? 'job' : 'jobs'}`;
}

/** The nodes between the dataset and the affected node. */
function throughOf(path: readonly string[]): string[] {
  return path.slice(1, -1).map((id) => (id.startsWith('job:') ? jobTitleOf(id) : titleOf(id)));
}

function saveCsv(dataset: string, direction: Direction, rows: readonly Affected[]): void {
  const csv = tableAsCsv(
    ['id', 'kind', 'name', 'jobs between', 'owners', 'last run', 'updated', 'path'],
    rows.map(({ node, distance, path, owners, lastRun, updated }) => [
      node.id,
      node.kind.toLowerCase(),
      node.name,
      Math.ceil(distance / HOPS),
      owners.join('; '),
      lastRun ?? '',
      updated ?? '',
      path.join(' > '),
    ]),
  );
  downloadText(`${fileName(dataset, direction)}.csv`, 'text/csv', csv);
}

function fileName(dataset: string, direction: Direction): string {
  return `${direction === 'DOWNSTREAM' ? 'impact' : 'causes'} of ${titleOf(dataset)}`;
}
