import { useState } from 'react';
import { instantText } from '../../facts/time';
import { jobTitleOf } from '../../graph/names';
import { endOf, type ViewChoice } from '../../graph/zoom';
import { type RunTick, useRunTicks } from '../../hooks/useRunTicks';
import { RunSlider } from '../RunSlider/RunSlider';
import styles from './TimeControls.module.css';

interface TimeControlsProps {
  /** Ids of the jobs whose runs are the ticks, the nearest first. */
  jobs: readonly string[];
  choice: ViewChoice;
  onChange: (choice: ViewChoice) => void;
}

const DAY_MS = 24 * 3600 * 1000;

/** The time of the drawing: a slider over the runs of its jobs, and a second one for the time since which changes are marked. */
export function TimeControls({ jobs, choice, onChange }: TimeControlsProps) {
  const { asOf, since } = choice;
  const [isOpened, setOpened] = useState(false);
  const isOpen = isOpened || asOf !== undefined || since !== undefined;
  const { ticks, isPending, error, jobs: asked } = useRunTicks(jobs, isOpen);
  const now = ticks.length;
  const end = asOf === undefined ? now : indexAt(ticks, asOf);
  const setAsOf = (value: string | undefined) => onChange(withPart(choice, 'asOf', value));
  const setSince = (value: string | undefined) => onChange(withPart(choice, 'since', value));
  if (!isOpen)
    return (
      <p className={styles.closed}>
        <button type="button" aria-expanded={false} onClick={() => setOpened(true)}>
          Show another time or changes
        </button>
      </p>
    );
  return (
    <fieldset className={styles.time} aria-busy={isPending}>
      <legend className="visually-hidden">Time of the drawing</legend>
      <label title="Only reports until the end of this day">
        As of
        <input
          type="date"
          value={asOf?.slice(0, 10) ?? ''}
          onChange={(event) => setAsOf(event.target.value || undefined)}
        />
      </label>
      {ticks.length > 0 && (
        <RunSlider
          label="Time of the drawing"
          ticks={ticks}
          max={now}
          value={end}
          words={(index) => (index === now ? 'now' : wordsOf(ticks[index]))}
          onChange={(index) => setAsOf(ticks[index]?.at)}
        />
      )}
      {isPending && <span>Loading the runs …</span>}
      {error && <span>The runs could not be loaded: {error.message}</span>}
      {!isPending && !error && ticks.length === 0 && <span>No run of the drawn jobs is known.</span>}
      {ticks.length > 0 && (
        <label title="Draw what was added, what is gone and what changed since an earlier run">
          <input
            type="checkbox"
            checked={since !== undefined}
            onChange={() => setSince(since === undefined ? usualStart(ticks, end) : undefined)}
          />
          Changes since
        </label>
      )}
      {ticks.length > 0 && since !== undefined && (
        <RunSlider
          label="Begin of the changes"
          ticks={ticks}
          max={Math.max(0, end - 1)}
          value={Math.max(0, indexAt(ticks, since))}
          words={(index) => wordsOf(ticks[index])}
          onChange={(index) => setSince(ticks[index]?.at)}
        />
      )}
      {jobs.length > asked && <span>The ticks are runs of the {asked} nearest jobs.</span>}
    </fieldset>
  );
}

function wordsOf(tick: RunTick | undefined): string {
  if (!tick) return '';
  return `${instantText(tick.at)}, after a run of ${jobTitleOf(tick.job)}${tick.hasFailed ? ' that failed' : ''}`;
}

/** The position of an instant: the last run until then. */
function indexAt(ticks: readonly RunTick[], instant: string): number {
  const time = Date.parse(endOf(instant));
  return Math.max(
    0,
    ticks.findLastIndex(({ at }) => Date.parse(at) <= time),
  );
}

/** The last run at least a day before, or the first run. */
function usualStart(ticks: readonly RunTick[], end: number): string | undefined {
  const until = Date.parse(ticks[Math.min(end, ticks.length - 1)]?.at ?? '') - DAY_MS;
  return (ticks.findLast(({ at }) => Date.parse(at) <= until) ?? ticks[0])?.at;
}

function withPart(choice: ViewChoice, part: 'asOf' | 'since', value: string | undefined): ViewChoice {
  const { [part]: _, ...rest } = choice;
  return value === undefined ? rest : { ...rest, [part]: value };
}
