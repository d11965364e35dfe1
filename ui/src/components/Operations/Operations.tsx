import { instantText } from '../../facts/time';
import { jobTitle, pathOf } from '../../graph/names';
import { inDataOrder } from '../../graph/path';
import type { PathHop } from '../../graph/types';
import type { DirectionChoice } from '../../location/location';
import { Badge } from '../Badge/Badge';
import { Note } from '../Note/Note';
import { Operation } from '../Operation/Operation';
import styles from './Operations.module.css';

interface OperationsProps {
  hops: readonly PathHop[];
  /** Short names of datasets by their id. */
  nameOf: (dataset: string) => string;
  /** Whether to show only the expressions that computed the traced column. */
  behindColumn?: boolean;
  direction: DirectionChoice;
}

const NO_HOP: Record<DirectionChoice, string> = {
  backward: 'No captured job wrote this record: it is a source.',
  forward: 'No captured job read this record.',
};

/** The operations between sources and results, in the order of the data. */
export function Operations({ hops, nameOf, behindColumn = false, direction }: OperationsProps) {
  if (hops.length === 0) return <Note>{NO_HOP[direction]}</Note>;
  return (
    <ol className={styles.list}>
      {inDataOrder(hops).map((hop) => (
        <li key={`${hop.run} ${hop.output}`} className={`${styles.hop} ${hop.grain === 'RECORD' ? '' : styles.coarse}`}>
          <h3>
            <span title={nameOfJob(hop)}>{jobTitle(nameOfJob(hop))}</span>
            {hop.grain !== 'RECORD' && <Badge tone="coarse">{hop.grain.toLowerCase()} grain</Badge>}
          </h3>
          <ol>
            {(behindColumn && hop.expressions ? hop.expressions : hop.operations)
              .toReversed()
              .map((operation, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a plan can contain the same operation twice
                <li key={index}>
                  <Operation operation={operation} />
                </li>
              ))}
          </ol>
          <p className={styles.records}>
            {hop.grain === 'RECORD' &&
              `${hop.records.toLocaleString('en')} ${hop.records === 1 ? 'record' : 'records'} `}
            into {nameOf(hop.output)}
          </p>
          {hop.recaptured && (
            <p className={styles.records}>
              Found when the program ran again on {instantText(hop.recaptured)} and wrote the same files.
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}

function nameOfJob(hop: PathHop): string {
  return pathOf(hop.job);
}
