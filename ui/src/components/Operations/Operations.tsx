import { instantText } from '../../facts/time';
import { jobTitle, pathOf } from '../../graph/names';
import { inDataOrder } from '../../graph/path';
import type { PathHop } from '../../graph/types';
import type { DirectionChoice } from '../../location/location';
import { Badge } from '../Badge/Badge';
import { Note } from '../Note/Note';
import { Expression } from '../Operation/Expression';
import { Operation } from '../Operation/Operation';
import styles from './Operations.module.css';

interface OperationsProps {
  hops: readonly PathHop[];
  /** Short names of datasets by their id. */
  nameOf: (dataset: string) => string;
  /** Whether a column was asked for: then only what made that column is shown. */
  behindColumn?: boolean;
  direction: DirectionChoice;
}

const NO_HOP: Record<DirectionChoice, string> = {
  backward: 'No captured job made this record: it is a source.',
  forward: 'No captured job made anything of this record.',
};

/** What happened between the records on the left and those on the right, in the order in which data passed it. */
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
            {behindColumn && hop.expressions
              ? [...hop.expressions].reverse().map((step, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the same operation may stand twice in a plan
                  <li key={index}>
                    <Expression step={step} />
                  </li>
                ))
              : [...hop.operations].reverse().map((operation, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the same operation may stand twice in a plan
                  <li key={index}>
                    <Operation text={operation} />
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
              Found by running the program again on {instantText(hop.recaptured)}; it wrote the same files.
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
