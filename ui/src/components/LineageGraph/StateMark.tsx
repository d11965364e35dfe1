import type { NodeState } from '../../facts/runs';
import styles from './StateMark.module.css';

/** The result of the last run. The sign differs as well as the colour. */
export function StateMark({ state }: { state: NodeState }) {
  return <i className={`${styles.mark} ${styles[state]}`} aria-hidden="true" />;
}
