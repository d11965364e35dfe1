import { useQuery } from '@tanstack/react-query';
import { type ReplayState, ReplaysDocument, type ReplaysQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { duration, instantText } from '../../facts/time';
import { jobTitleOf, titleOf } from '../../graph/names';
import { isRunning } from '../../hooks/useTraceJob';
import { formatValue, valuesOf } from '../../trace/values';
import { Badge, type Tone } from '../Badge/Badge';
import { Note } from '../Note/Note';
import styles from './ReplayList.module.css';

type Replay = ReplaysQuery['replays'][number];
type Difference = Replay['differences'][number];

const TONE: Record<ReplayState, Tone> = { QUEUED: 'plain', RUNNING: 'accent', COMPLETE: 'good', FAILED: 'bad' };

const SHOWN = 20;
const REFRESH_MS = 2000;

/** The latest replays, with the rows that they changed. */
export function ReplayList() {
  const { data } = useQuery({
    ...queryOf(ReplaysDocument, { first: SHOWN }),
    refetchInterval: (query) => (query.state.data?.replays.some(({ state }) => isRunning(state)) ? REFRESH_MS : false),
  });
  if (!data || data.replays.length === 0) return null;
  return (
    <section className={styles.section} aria-labelledby="replays">
      <h2 id="replays">Replays</h2>
      <p className={styles.lead}>
        Pipelines that ran again without some records, into a shadow folder. The originals stay unchanged.
      </p>
      {data.replays.map((replay) => (
        <ReplayEntry key={replay.id} replay={replay} />
      ))}
    </section>
  );
}

function ReplayEntry({ replay }: { replay: Replay }) {
  const took = replay.endedAt ? duration(replay.startedAt, replay.endedAt) : undefined;
  return (
    <article className={styles.replay}>
      <p className={styles.facts}>
        <Badge tone={TONE[replay.state]}>{replay.state.toLowerCase()}</Badge>
        <span>{instantText(replay.startedAt)}</span>
        {took && <span>{took}</span>}
        <span>
          {replay.steps
            .map((step) => `${jobTitleOf(step.job)} ${step.state === 'COMPLETE' ? '✓' : step.state.toLowerCase()}`)
            .join(' → ')}
        </span>
        <code>{replay.shadow}</code>
      </p>
      {replay.error && <Note tone="bad" title={replay.error} />}
      {replay.differences.map((difference) => (
        <DifferenceTable key={JSON.stringify(difference)} difference={difference} />
      ))}
    </article>
  );
}

function DifferenceTable({ difference }: { difference: Difference }) {
  const [before, after] = [valuesOf(difference.before), valuesOf(difference.after)];
  const columns = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = new Set(difference.columns);
  const name = titleOf(difference.dataset);
  return (
    <div className={styles.scroll}>
      <table aria-label={`A row of ${name}, before and after`}>
        <thead>
          <tr>
            <th scope="col">{name}</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[['before', before] as const, ['after', after] as const].map(([side, row]) => (
            <tr key={side}>
              <th scope="row">{side}</th>
              {columns.map((column) => (
                <td key={column} className={changed.has(column) ? styles.changed : undefined}>
                  <span>{column in row ? formatValue(row[column]) : '–'}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
