import { isColumnLink, type SceneLink } from '../../graph/scene';
import styles from './LineageGraph.module.css';

const CHANGES = [
  ['added', 'added since'],
  ['gone', 'gone since'],
  ['changed', 'changed since'],
] as const;

/** The meaning of the lines, for those kinds of links that the drawing has. */
export function Legend({ links }: { links: readonly SceneLink[] }) {
  const flows = links.filter((link) => !isColumnLink(link));
  const columns = links.filter(isColumnLink);
  return (
    <p className={styles.legend}>
      {flows.some((link) => link.state === 'traced' && !link.isCoarse) && <span>traced record by record</span>}
      {flows.some((link) => link.isCoarse) && <span className={styles.coarse}>known by dataset only</span>}
      {flows.some((link) => link.isHidden) && <span className={styles.via}>through hidden nodes</span>}
      {flows.some((link) => link.isFormer) && <span className={styles.former}>former, given up by its job</span>}
      {CHANGES.map(
        ([change, words]) =>
          links.some((link) => link.change === change) && (
            <span key={change} className={styles[change]}>
              {words}
            </span>
          ),
      )}
      {columns.some((link) => !link.isIndirect) && <span className={styles.column}>from column to column</span>}
      {columns.some((link) => link.isIndirect) && <span className={styles.indirect}>column decides about rows</span>}
    </p>
  );
}
