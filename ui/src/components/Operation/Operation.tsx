import type { Step } from '../../graph/types';
import { wordsOfOperation, wordsOfStep } from '../../trace/operation';
import styles from './Operation.module.css';

interface OperationProps {
  /** Spark's text of an operation, or its effect on the traced column. */
  operation: string | Step;
  /** Whether to show a long text completely. */
  whole?: boolean;
}

/** An operation of a plan in words, with the complete text as tooltip. */
export function Operation({ operation, whole = false }: OperationProps) {
  const { verb, detail } = typeof operation === 'string' ? wordsOfOperation(operation) : wordsOfStep(operation);
  return (
    <span
      className={whole ? styles.whole : styles.operation}
      title={typeof operation === 'string' ? operation : `${verb} ${detail}`}
    >
      <b>{verb}</b> {detail}
    </span>
  );
}
