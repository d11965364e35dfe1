import styles from './Title.module.css';

/** The end of the name of a file is its format, which distinguishes nothing. */
const FILE = /\.(avro|csv|gz|json|jsonl|orc|parquet|tsv|txt|xml|zst)$/i;

/** A name that is cut before its last segment if the card has no space: the end distinguishes it best. */
export function Title({ text }: { text: string }) {
  const start = tailStart(text);
  if (start === 0) return <b className={styles.title}>{text}</b>;
  return (
    <b className={styles.title}>
      <span className="visually-hidden">{text}</span>
      <span aria-hidden="true" className={styles.head}>
        {text.slice(0, start)}
      </span>
      <span aria-hidden="true" className={styles.tail}>
        {text.slice(start)}
      </span>
    </b>
  );
}

/** The position after the last slash or dot that leaves a readable end. */
function tailStart(text: string): number {
  const slash = text.lastIndexOf('/') + 1;
  const end = text.slice(slash);
  const dot = end.split('.').length > 2 && !FILE.test(end) ? end.lastIndexOf('.') + 1 : 0;
  return slash + dot;
}
