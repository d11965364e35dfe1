import { useEffect } from 'react';
import { parseId } from '../../graph/ids';
import { baseName } from '../../graph/names';
import { useLocation } from '../../hooks/useLocation';
import { type Location, tracedRecord } from '../../location/location';
import { AdminPage } from '../AdminPage/AdminPage';
import { DatasetPage } from '../DatasetPage/DatasetPage';
import { HomePage } from '../HomePage/HomePage';
import { TopBar } from '../TopBar/TopBar';
import { TracePage } from '../TracePage/TracePage';
import styles from './App.module.css';

/** Chooses the view that the address names. */
export function App() {
  const location = useLocation();
  useEffect(() => {
    document.title = titleOf(location);
  }, [location]);
  return (
    <>
      <a href="#main" className={styles.skip}>
        Skip to the content
      </a>
      <TopBar search={location.dataset !== undefined || location.page !== undefined} />
      <main id="main" tabIndex={-1} className={styles.main}>
        <View location={location} />
      </main>
    </>
  );
}

function View({ location }: { location: Location }) {
  if (location.page === 'admin') return <AdminPage />;
  const record = tracedRecord(location);
  if (record) return <TracePage location={location} record={record} />;
  if (location.dataset) return <DatasetPage key={location.dataset} location={location} dataset={location.dataset} />;
  return <HomePage />;
}

function titleOf({ page, dataset, row, column }: Location): string {
  if (page === 'admin') return 'Administration · Headwater';
  if (!dataset) return 'Headwater';
  const name = baseName(parseId(dataset).parts.at(-1) ?? dataset);
  if (row === undefined) return `${name} · Headwater`;
  return `${column ? `${column} of a` : 'A'} record in ${name} · Headwater`;
}
