import { CopyField } from '../CopyField/CopyField';
import styles from './EmptyState.module.css';

/** Instructions for the first run. */
export function EmptyState() {
  return (
    <div className={styles.page}>
      <h1 className={styles.title}>No lineage yet</h1>
      <p className={styles.lead}>
        After a job has run under Headwater, its datasets appear here, and you can trace their values. There are two
        ways to start:
      </p>
      <ol className={styles.steps}>
        <li>
          <h2>Your own job</h2>
          <CopyField label="the command" text="headwater run mine.py" />
          <p>The script needs no change. In a notebook, use: headwater.attach(spark)</p>
        </li>
        <li>
          <h2>The demo</h2>
          <CopyField label="the command" text="headwater demo" />
          <p>
            Five jobs over New York’s flights and weather of 2013, with a number in the report that cannot be right.
          </p>
        </li>
      </ol>
      <p className={styles.waiting}>
        This page updates itself. If nothing appears after a job, the job used another home. Start the job and
        “headwater serve” with the same --home.
      </p>
    </div>
  );
}
