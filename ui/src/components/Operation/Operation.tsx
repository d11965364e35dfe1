import { wordsOfOperation } from '../../trace/operation';
import styles from './Operation.module.css';

interface OperationProps {
  /** The plan's own text of it. */
  text: string;
  /** Whether long ones are shown whole. */
  whole?: boolean;
}

/** An operation of a plan, in words; its own text is there on hover. */
export function Operation({ text, whole = false }: OperationProps) {
  const { verb, detail } = wordsOfOperation(text);
  return (
    <span className={whole ? styles.whole : styles.operation} title={text}>
      <b>{verb}</b> {detail}
    </span>
  );
}
