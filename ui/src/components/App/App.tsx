import { Suspense } from 'react';
import { titleOf } from '../../graph/names';
import { useFocusOfPage } from '../../hooks/useFocusOfPage';
import { useLocation } from '../../hooks/useLocation';
import { type Location, tracedRecord } from '../../location/location';
import { DatasetPage, HomePage, PAGES, TracePage } from '../../pages';
import { PageView } from '../PageView/PageView';
import { Skeleton } from '../Skeleton/Skeleton';
import { TopBar } from '../TopBar/TopBar';
import styles from './App.module.css';

/** Shows the page that the address names. */
export function App() {
  const location = useLocation();
  useFocusOfPage(`${location.page} ${location.item} ${location.dataset} ${location.file} ${location.row}`);
  return (
    <>
      <title>{titleOfPage(location)}</title>
      <a href="#main" className={styles.skip}>
        Skip to the content
      </a>
      <TopBar search={location.dataset !== undefined || location.page !== undefined} />
      <main id="main" tabIndex={-1} className={styles.main}>
        <Suspense fallback={<Skeleton label="Loading the page" />}>
          <View location={location} />
        </Suspense>
      </main>
    </>
  );
}

function View({ location }: { location: Location }) {
  const record = tracedRecord(location);
  if (record) return <TracePage location={location} record={record} />;
  if (location.dataset) return <DatasetPage key={location.dataset} location={location} dataset={location.dataset} />;
  const page = PAGES.find(({ name }) => name === location.page);
  return page ? (
    <PageView page={page} location={location} />
  ) : (
    <HomePage key={location.find} find={location.find ?? ''} />
  );
}

function titleOfPage({ page, dataset, row, column }: Location): string {
  const title = PAGES.find(({ name }) => name === page)?.title;
  if (!dataset) return title ? `${title} · Headwater` : 'Headwater';
  if (row === undefined) return `${titleOf(dataset)} · Headwater`;
  return `${column ? `${column} of a` : 'A'} record in ${titleOf(dataset)} · Headwater`;
}
