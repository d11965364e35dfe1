import styles from './Skeleton.module.css';

interface SkeletonProps {
  /** Description of the loading content for screen readers. */
  label: string;
  /** Number of bars. */
  rows?: number;
}

/** The placeholder of loading content. */
export function Skeleton({ label, rows = 6 }: SkeletonProps) {
  return (
    <div role="status" aria-label={label} aria-busy className={styles.rows}>
      {Array.from({ length: rows }, (_, index) => `bar ${index}`).map((key) => (
        <span key={key} className={styles.bar} />
      ))}
    </div>
  );
}
