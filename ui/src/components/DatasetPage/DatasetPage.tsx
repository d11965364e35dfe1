import { Suspense } from 'react';
import { namespaceOf } from '../../facts/datasets';
import { counted } from '../../facts/text';
import { pathOf, titleOf } from '../../graph/names';
import { type RowPage, useRows } from '../../hooks/useRows';
import { HOME } from '../../location/location';
import { DATASET_PAGES, type DatasetPageProps, DatasetRows } from '../../pages';
import { Badge } from '../Badge/Badge';
import { Breadcrumb } from '../Breadcrumb/Breadcrumb';
import { DatasetHead } from '../DatasetHead/DatasetHead';
import { DatasetTabs } from '../DatasetTabs/DatasetTabs';
import { PageView } from '../PageView/PageView';
import { Skeleton } from '../Skeleton/Skeleton';
import styles from './DatasetPage.module.css';

/** The head of a dataset, and the tab in the address. */
export function DatasetPage({ location, dataset }: DatasetPageProps) {
  const { where, sort } = location;
  const { first, total } = useRows({ dataset, where, sort }, 0, 0);
  const page = DATASET_PAGES.find(({ name }) => name === location.page);
  const name = titleOf(dataset);
  return (
    <div className={styles.page}>
      <header>
        <Breadcrumb steps={[{ label: 'Datasets', to: HOME }, { label: name }]} />
        <div className={styles.title}>
          <h1>{name}</h1>
          {first.data && first.data.columns.length > 0 && (
            <Facts page={first.data} isLoading={first.isPlaceholderData} total={total} />
          )}
        </div>
        <p className={styles.path}>
          <span className={styles.namespace} title="Namespace: the system that stores the dataset">
            {namespaceOf(dataset)}
          </span>
          {pathOf(dataset) !== name && pathOf(dataset)}
        </p>
        <DatasetHead dataset={dataset} />
      </header>
      <DatasetTabs dataset={dataset} location={location} />
      {page ? (
        <PageView page={page} dataset={dataset} location={location} />
      ) : (
        <Suspense fallback={<Skeleton label="Loading the rows" />}>
          <DatasetRows dataset={dataset} location={location} />
        </Suspense>
      )}
    </div>
  );
}

interface FactsProps {
  page: RowPage;
  /** Whether the rows of another predicate are loading. */
  isLoading: boolean;
  total: number;
}

function Facts({ page, isLoading, total }: FactsProps) {
  return (
    <>
      <Badge>{isLoading ? 'counting rows …' : rowsText(total, page.question.where !== null)}</Badge>
      {page.hasRecordLineage ? (
        <Badge tone="good" icon="check" title="Each record can be traced to its source records.">
          record lineage
        </Badge>
      ) : (
        <Badge tone="coarse" title="A trace of its records finds datasets, not records.">
          lineage by dataset
        </Badge>
      )}
    </>
  );
}

function rowsText(total: number, isFiltered: boolean): string {
  const match = total === 1 ? ' that matches' : ' that match';
  return `${counted(total, 'row')}${isFiltered ? match : ''}`;
}
