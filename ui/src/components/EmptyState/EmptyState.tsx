import { CopyField } from '../CopyField/CopyField';
import styles from './EmptyState.module.css';

/** What the page says before any run was captured: how to make the first one. */
export function EmptyState() {
  return (
    <div className={styles.page}>
      <h1 className={styles.title}>No lineage yet</h1>
      <p className={styles.lead}>
        Once a job has run under Headwater, its datasets appear here, and you can trace any of their values. Two ways to
        begin:
      </p>
      <ol className={styles.steps}>
        <li>
          <h2>Your own job</h2>
          <CopyField label="the command" text="headwater run mine.py" />
          <p>The script is not changed. In a notebook, one line does the same: headwater.attach(spark)</p>
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
        This page updates by itself. If a job has run and nothing appears, it wrote to another home: give the job and
        “headwater serve” the same --home.
      </p>
    </div>
  );
}
