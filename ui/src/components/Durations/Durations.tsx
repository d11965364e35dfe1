import { hasFailed, type RunFacts } from '../../facts/runs';
import { duration, instantText, secondsText } from '../../facts/time';
import { HOME } from '../../location/location';
import { Link } from '../Link/Link';
import styles from './Durations.module.css';

/** The durations of runs over time, the oldest first: one bar for each run, which opens the run. */
export function Durations({ runs }: { runs: readonly RunFacts[] }) {
  const timed = runs.flatMap((run) => {
    const seconds = secondsOf(run);
    return seconds === undefined ? [] : [{ run, seconds }];
  });
  if (timed.length < 2) return null;
  const longest = Math.max(...timed.map(({ seconds }) => seconds), 0.001);
  const sorted = timed.map(({ seconds }) => seconds).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return (
    <figure className={styles.figure}>
      <figcaption>
        Durations of the last {timed.length} runs that ended: usually {secondsText(middle)}, at most{' '}
        {secondsText(longest)}
      </figcaption>
      <ol className={styles.bars}>
        {timed.toReversed().map(({ run, seconds }) => {
          const state = hasFailed(run) ? 'failed' : 'complete';
          const words = `${instantText(run.started ?? '')}: ${state}, ${secondsText(seconds)}`;
          return (
            <li key={run.id}>
              <Link to={{ ...HOME, page: 'run', item: run.id }} title={words} aria-label={words}>
                <span
                  className={`${styles.bar} ${state === 'failed' ? styles.failed : ''}`}
                  style={{ height: `max(3px, ${(seconds / longest) * 100}%)` }}
                />
              </Link>
            </li>
          );
        })}
      </ol>
    </figure>
  );
}

function secondsOf({ started, ended }: RunFacts): number | undefined {
  if (started === undefined || ended === undefined || duration(started, ended) === undefined) return undefined;
  return (Date.parse(ended) - Date.parse(started)) / 1000;
}
