import { type DatasetSummary, fullName } from '../../facts/datasets';
import { type Health, healthOf } from '../../facts/runs';
import { ago, instantText } from '../../facts/time';
import type { Group } from '../../graph/groups';
import { HOME } from '../../location/location';
import { Badge, type Tone } from '../Badge/Badge';
import { Link } from '../Link/Link';
import styles from './DatasetTable.module.css';

interface DatasetTableProps {
  groups: readonly Group<DatasetSummary>[];
  /** The text of a group's number of datasets. */
  count: (group: Group<DatasetSummary>) => string;
}

const HEALTH: Record<Health, { tone: Tone; label: string; title: string }> = {
  good: {
    tone: 'good',
    label: 'record lineage',
    title: 'The last run succeeded, and the lineage of its records is complete.',
  },
  reported: {
    tone: 'good',
    label: 'last run succeeded',
    title: 'The last run succeeded. Its lineage is known by dataset, as its tool reports it.',
  },
  partial: {
    tone: 'coarse',
    label: 'coarse lineage',
    title: 'The last run succeeded, but not all lineage of its records was captured.',
  },
  failed: { tone: 'bad', label: 'last run failed', title: 'The last run failed or was aborted.' },
  running: { tone: 'accent', label: 'running', title: 'A run is writing the dataset now, or reported no end.' },
  unknown: { tone: 'plain', label: 'source', title: 'No known job writes the dataset.' },
};

export function DatasetTable({ groups, count }: DatasetTableProps) {
  if (groups.length === 0) return null;
  return (
    <table className={styles.table}>
      <thead className={styles.head}>
        <tr>
          <th scope="col" className={styles.name}>
            Dataset
          </th>
          <th scope="col" className={`${styles.rows} ${styles.number}`}>
            Rows
          </th>
          <th scope="col" className={styles.run}>
            Last run
          </th>
          <th scope="col" className={styles.health}>
            Health
          </th>
        </tr>
      </thead>
      {groups.map((group) => (
        <tbody key={group.key}>
          <tr className={styles.group}>
            <th scope="rowgroup" colSpan={4}>
              <bdi title={group.title}>{group.title}</bdi>
              <span>{count(group)}</span>
            </th>
          </tr>
          {group.items.map((dataset) => (
            <Row key={dataset.id} dataset={dataset} />
          ))}
        </tbody>
      ))}
    </table>
  );
}

function Row({ dataset }: { dataset: DatasetSummary }) {
  const { tone, label, title } = HEALTH[healthOf(dataset.lastRun)];
  const when = dataset.lastRun?.ended ?? dataset.lastRun?.started;
  return (
    <tr className={styles.row}>
      <td className={styles.name}>
        <Link to={{ ...HOME, dataset: dataset.id }} className={styles.link} data-row>
          <b>{dataset.short}</b>
          <small title={fullName(dataset.id)}>{fullName(dataset.id)}</small>
        </Link>
      </td>
      <td className={`${styles.rows} ${styles.number}`}>{dataset.rows?.toLocaleString('en')}</td>
      <td className={styles.run}>
        {when && (
          <time dateTime={when} title={instantText(when)}>
            {ago(when)}
          </time>
        )}
      </td>
      <td className={styles.health}>
        <Badge tone={tone} title={title}>
          {label}
        </Badge>
      </td>
    </tr>
  );
}
