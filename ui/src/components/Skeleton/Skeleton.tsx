import styles from './Skeleton.module.css';

interface SkeletonProps {
  /** What is on its way, for those who listen. */
  label: string;
  /** Number of bars. */
  rows?: number;
}

/** The place of something that is on its way. */
export function Skeleton({ label, rows = 6 }: SkeletonProps) {
  return (
    <div role="status" aria-label={label} className={styles.rows}>
      {Array.from({ length: rows }, (_, index) => `bar ${index}`).map((key) => (
        <span key={key} className={styles.bar} />
      ))}
    </div>
  );
}
