import type { ReplayState, ReplaysQuery } from '../../api/generated/graphql';
import { duration, instantText } from '../../facts/time';
import { parseId } from '../../graph/ids';
import { baseName, jobTitleOf } from '../../graph/names';
import { useReplays } from '../../hooks/useReplays';
import { formatValue, valuesOf } from '../../trace/values';
import { Badge, type Tone } from '../Badge/Badge';
import { Note } from '../Note/Note';
import styles from './ReplayList.module.css';

type Replay = ReplaysQuery['replays'][number];
type Difference = Replay['differences'][number];

const TONE: Record<ReplayState, Tone> = { QUEUED: 'plain', RUNNING: 'accent', COMPLETE: 'good', FAILED: 'bad' };

/** Pipelines that were run again without some records, and what came out differently. They are started from the command line. */
export function ReplayList() {
  const { data } = useReplays();
  if (!data || data.length === 0) return null;
  return (
    <section className={styles.section} aria-labelledby="replays">
      <h2 id="replays">Replays</h2>
      <p className={styles.lead}>
        Pipelines run again without some records, into a shadow folder. The originals stay as they are.
      </p>
      {data.map((replay) => (
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
  const name = baseName(parseId(difference.dataset).parts.at(-1) ?? '');
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
