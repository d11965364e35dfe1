import type { Step } from '../../graph/types';
import { wordsOfStep } from '../../trace/operation';
import styles from './Operation.module.css';

/** What an operator does for the column that was asked for; the whole text is there on hover. */
export function Expression({ step }: { step: Step }) {
  const { verb, detail } = wordsOfStep(step);
  return (
    <span className={styles.operation} title={`${verb} ${detail}`}>
      <b>{verb}</b> {detail}
    </span>
  );
}
