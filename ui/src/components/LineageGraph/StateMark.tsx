import type { NodeState } from '../../facts/runs';
import styles from './StateMark.module.css';

/** The result of the last run, or that its values are unusual. The sign differs as well as the colour. */
export function StateMark({ state }: { state: NodeState | 'unusual' }) {
  return <i className={`${styles.mark} ${styles[state]}`} aria-hidden="true" />;
}
