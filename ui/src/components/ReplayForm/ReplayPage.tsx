import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { ReplayForm } from './ReplayForm';

/** The tab of a dataset that starts a replay. */
export function ReplayPage({ dataset }: DatasetPageProps) {
  return (
    <div className={styles.tab}>
      <section className={styles.section} aria-labelledby="again">
        <h2 id="again">Run again</h2>
        <p className={styles.lead}>
          The service runs the recorded programs behind this dataset again, and compares the rows before and after.
        </p>
        <ReplayForm output={dataset} />
      </section>
    </div>
  );
}
