import { navigate } from '../../hooks/useLocation';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { ReplayView } from '../Replays/ReplayView';
import { ReplayForm } from './ReplayForm';

/** The tab of a dataset that starts a replay. */
export function ReplayPage({ dataset, location }: DatasetPageProps) {
  return (
    <div className={styles.tab}>
      <section className={styles.section} aria-labelledby="again">
        <h2 id="again">Run again</h2>
        <p className={styles.lead}>
          The service runs the recorded programs behind this dataset again, and compares the rows before and after.
        </p>
        <ReplayForm output={dataset} onStart={(id) => navigate({ ...location, item: id })} />
      </section>
      {location.item && (
        <section className={styles.section} aria-labelledby="started">
          <h2 id="started">The replay</h2>
          <ReplayView id={location.item} />
        </section>
      )}
    </div>
  );
}
