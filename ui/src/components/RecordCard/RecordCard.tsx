import { placeOf, type ReachedRecord } from '../../graph/records';
import { formatValue, sameValue, valuesOf } from '../../trace/values';
import { Mark } from '../Mark/Mark';
import styles from './RecordCard.module.css';

interface RecordCardProps {
  record: ReachedRecord;
  /** Names of the traced columns. */
  traced: ReadonlySet<string>;
  /** The clicked value. Equal values in traced columns are marked. */
  clicked?: { value: unknown } | undefined;
  /** Whether this is the clicked record. */
  origin?: boolean;
}

export function RecordCard({ record, traced, clicked, origin = false }: RecordCardProps) {
  const pairs = Object.entries(valuesOf(record.values));
  return (
    <article className={styles.card}>
      <p className={styles.place} title={record.file ?? undefined}>
        {placeOf(record)}
      </p>
      {pairs.length === 0 && <p className={styles.gone}>The values cannot be read.</p>}
      <dl className={styles.values}>
        {pairs.map(([column, value]) => {
          const isTraced = traced.has(column);
          const marked = isTraced && clicked !== undefined && sameValue(value, clicked.value);
          return (
            <div key={column} className={`${styles.pair} ${marked ? styles.marked : isTraced ? styles.traced : ''}`}>
              <dt>{column}</dt>
              <dd>
                <span className={value === null ? styles.null : undefined}>{formatValue(value)}</span>
                {marked && <Mark origin={origin} />}
              </dd>
            </div>
          );
        })}
      </dl>
    </article>
  );
}
