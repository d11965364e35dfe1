import { countOf, placeOf, type ReachedRecord, type RecordGroup } from '../../graph/records';
import type { PathHop } from '../../graph/types';
import type { DirectionChoice } from '../../location/location';
import { Badge } from '../Badge/Badge';
import { Note } from '../Note/Note';
import { Operations } from '../Operations/Operations';
import { RecordCard } from '../RecordCard/RecordCard';
import { RecordTable } from '../RecordTable/RecordTable';
import styles from './Records.module.css';

interface RecordsProps {
  direction: DirectionChoice;
  selected: readonly ReachedRecord[];
  /** The result of the trace. */
  groups: readonly RecordGroup[];
  /** Number of all records in the result. */
  total: number;
  hops: readonly PathHop[];
  /** Names of the traced columns by the id of their dataset. */
  traced: ReadonlyMap<string, ReadonlySet<string>>;
  clicked: { value: unknown } | undefined;
  /** Short names of datasets by their id. */
  nameOf: (dataset: string) => string;
}

const NONE: ReadonlySet<string> = new Set();

/** Sources on the left, results on the right, and the operations between them. */
export function Records({ direction, selected, groups, total, hops, traced, clicked, nameOf }: RecordsProps) {
  const shown = groups.reduce((sum, group) => sum + group.records.length + group.coarse.length, 0);
  const origin = (
    <section className={styles.column}>
      <h2>{direction === 'backward' ? 'The result' : 'The record'}</h2>
      {selected.map((record) => (
        <RecordCard
          key={`${record.file} ${record.row}`}
          record={record}
          traced={traced.get(record.dataset) ?? NONE}
          clicked={clicked}
          origin
        />
      ))}
    </section>
  );
  const reached = (
    <section className={styles.column}>
      <h2>{direction === 'backward' ? 'The records behind it' : 'What it went into'}</h2>
      {groups.length === 0 && (
        <Note>No record was reached{direction === 'forward' ? ': no captured run used the record' : ''}.</Note>
      )}
      {groups.map((group) => (
        <Group
          key={group.dataset}
          group={group}
          traced={traced.get(group.dataset) ?? NONE}
          clicked={clicked}
          name={nameOf(group.dataset)}
        />
      ))}
      {total > shown && (
        <p className={styles.cut}>
          These are the first {shown.toLocaleString('en')} of {total.toLocaleString('en')}. To see the records of one
          dataset, select it under “records of”. The command line prints all records.
        </p>
      )}
    </section>
  );
  const between = (
    <section className={styles.column}>
      <h2>What happened between</h2>
      <Operations
        hops={hops}
        nameOf={nameOf}
        direction={direction}
        behindColumn={direction === 'backward' && clicked !== undefined}
      />
    </section>
  );
  return direction === 'backward' ? (
    <div className={styles.records}>
      {reached}
      {between}
      {origin}
    </div>
  ) : (
    <div className={`${styles.records} ${styles.forward}`}>
      {origin}
      {between}
      {reached}
    </div>
  );
}

interface GroupProps {
  group: RecordGroup;
  traced: ReadonlySet<string>;
  clicked: { value: unknown } | undefined;
  name: string;
}

function Group({ group, traced, clicked, name }: GroupProps) {
  const [only, ...others] = group.records;
  return (
    <section className={styles.group}>
      <header>
        <h3>{name}</h3>
        {group.records.length > 0 && <Badge tone="accent">{countOf(group)}</Badge>}
        <span className={styles.path}>{group.name}</span>
      </header>
      {only && others.length === 0 && <RecordCard record={only} traced={traced} clicked={clicked} />}
      {others.length > 0 && (
        <RecordTable records={group.records} traced={traced} clicked={clicked} label={`Records of ${name}`} />
      )}
      {group.coarse.map((entry) => (
        <CoarseEntry key={`${entry.grain} ${entry.file}`} entry={entry} name={name} />
      ))}
    </section>
  );
}

const WHOLE: Record<string, string> = {
  PARTITION: 'one file',
  VERSION: 'the whole output of one run',
  DATASET: 'the whole dataset',
};

function CoarseEntry({ entry, name }: { entry: ReachedRecord; name: string }) {
  return (
    <div className={styles.coarse}>
      <p>
        <Badge tone="coarse">{entry.grain.toLowerCase()} grain</Badge> {name}: {WHOLE[entry.grain] ?? 'a part'}
        {entry.file && `, ${placeOf(entry)}`}
      </p>
      <p>The records of a job on the path were not captured, so only the dataset is known.</p>
    </div>
  );
}
