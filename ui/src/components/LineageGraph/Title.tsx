import styles from './Title.module.css';

/** A name that is cut before its last segment if the card has no space: the end distinguishes it best. */
export function Title({ text }: { text: string }) {
  const start = tailStart(text);
  return (
    <b className={styles.title}>
      {start > 0 && <span className={styles.head}>{text.slice(0, start)}</span>}
      <span className={styles.tail}>{text.slice(start)}</span>
    </b>
  );
}

/** The position after the last slash or dot that leaves a readable end. */
function tailStart(text: string): number {
  const slash = text.lastIndexOf('/') + 1;
  const end = text.slice(slash);
  const dot = end.split('.').length > 2 ? end.lastIndexOf('.') + 1 : 0;
  return slash + dot;
}
