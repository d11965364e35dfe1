import type { SceneLink } from '../../graph/scene';
import styles from './Legend.module.css';

interface LegendProps {
  /** The links that are drawn; only their kinds are explained. */
  links: readonly SceneLink[];
}

/** What the lines of the graph mean. */
export function Legend({ links }: LegendProps) {
  const flows = links.filter((link) => !link.srcColumn);
  return (
    <p className={styles.legend}>
      {flows.some((link) => link.state === 'traced' && !link.coarse) && <span>traced record by record</span>}
      {flows.some((link) => link.coarse) && <span className={styles.coarse}>known by dataset only</span>}
      {flows.length < links.length && <span className={styles.column}>from column to column</span>}
    </p>
  );
}
