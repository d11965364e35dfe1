import { instantText } from '../../facts/time';
import type { DirectionChoice, SemanticsChoice } from '../../location/location';
import type { Phrase } from '../../trace/sentence';
import { Badge } from '../Badge/Badge';
import styles from './TraceHead.module.css';

interface TraceHeadProps {
  sentence: readonly Phrase[];
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  exact: boolean;
  elapsedMs: number;
  /** The version in which the record was looked up, if the address names one. */
  asOf: { at: string; isRead: boolean } | null;
}

const MEANING: Record<DirectionChoice, Record<SemanticsChoice, string>> = {
  backward: {
    witness: 'Witness: with only these records, the jobs produce this value again.',
    influence: 'Influence: every record that had a part in this row, even if it did not decide the value.',
  },
  forward: {
    witness: 'Witness: the records whose value needs this record.',
    influence: 'Influence: every record in which this record had a part.',
  },
};

/** The result of a trace as a sentence, its meaning, and its exactness. */
export function TraceHead({ sentence, semantics, direction, exact, elapsedMs, asOf }: TraceHeadProps) {
  return (
    <div className={styles.head}>
      <h1 className={styles.sentence}>
        {sentence.map(({ text, strong }, index) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: a sentence has its order
          strong ? <strong key={index}>{text}</strong> : <span key={index}>{text}</span>,
        )}
      </h1>
      <p className={styles.means}>
        {exact ? (
          <Badge tone="good" icon="check" title="The answer contains exactly the right records.">
            exact
          </Badge>
        ) : (
          <Badge tone="warn" icon="warn" title="The reasons are listed below.">
            not exact
          </Badge>
        )}
        <span>{MEANING[direction][semantics]}</span>
        {asOf && (
          <span title={asOf.isRead ? 'The dataset as a run read it' : 'The dataset as a run wrote it'}>
            As of {instantText(asOf.at)}.
          </span>
        )}
        <span className={styles.time}>{Math.round(elapsedMs)} ms</span>
      </p>
    </div>
  );
}

/** The place of the sentence while its answer loads. */
export function TraceHeadSkeleton() {
  return (
    <div className={styles.head} role="status" aria-label="Tracing the record">
      <span className={`${styles.bar} ${styles.long}`} />
      <span className={styles.bar} />
    </div>
  );
}
