import { useEffect, useState } from 'react';
import type { RunTick } from '../../hooks/useRunTicks';
import styles from './RunSlider.module.css';

/** A slider that moves does not ask the service for each tick on the way. */
const SETTLED_MS = 250;

interface RunSliderProps {
  label: string;
  ticks: readonly Pick<RunTick, 'run' | 'hasFailed'>[];
  /** The last position. */
  max: number;
  value: number;
  words: (index: number) => string;
  onChange: (index: number) => void;
}

/** A slider with one position for each run. A cross marks a run that failed. */
export function RunSlider({ label, ticks, max, value, words, onChange }: RunSliderProps) {
  const [moved, setMoved] = useState<number>();
  const shown = moved ?? value;
  useEffect(() => {
    if (moved === undefined) return;
    const timer = setTimeout(() => {
      setMoved(undefined);
      if (moved !== value) onChange(moved);
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [moved, value, onChange]);
  return (
    <span className={styles.slider}>
      <span className={styles.range}>
        <input
          type="range"
          min={0}
          max={max}
          step={1}
          value={shown}
          aria-label={label}
          aria-valuetext={words(shown)}
          onChange={(event) => setMoved(Number(event.target.value))}
        />
        <span className={styles.ticks} aria-hidden="true">
          {ticks.slice(0, max + 1).map(({ run, hasFailed }, index) => (
            <i
              key={run}
              className={hasFailed ? styles.failed : undefined}
              style={{ left: `${max === 0 ? 0 : (100 * index) / max}%` }}
            >
              {hasFailed ? '✕' : ''}
            </i>
          ))}
        </span>
      </span>
      <output>{words(shown)}</output>
    </span>
  );
}
