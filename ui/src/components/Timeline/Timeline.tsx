import type { ReactNode } from 'react';
import { duration, instantText } from '../../facts/time';
import type { Tone } from '../Badge/Badge';
import styles from './Timeline.module.css';

export interface Span {
  id: string;
  label: ReactNode;
  /** Instants in ISO 8601. Without an end, the span lasts until the end of the timeline. */
  start: string;
  end: string | undefined;
  tone: Tone;
  /** Words for what the colour means, and further facts. */
  note: string;
  /** Whether it is a part of the span above. */
  isPart?: boolean;
}

/** Spans under each other along one axis of time. Their order is that of the list. */
export function Timeline({ label, spans }: { label: string; spans: readonly Span[] }) {
  const from = Math.min(...spans.map(({ start }) => Date.parse(start)));
  const until = Math.max(...spans.flatMap(({ start, end }) => [Date.parse(start), Date.parse(end ?? start)]));
  const width = Math.max(until - from, 1);
  return (
    <ol className={styles.timeline} aria-label={label}>
      {spans.map(({ id, label: name, start, end, tone, note, isPart }) => {
        const left = ((Date.parse(start) - from) / width) * 100;
        const length = ((Date.parse(end ?? new Date(until).toISOString()) - Date.parse(start)) / width) * 100;
        const took = end ? duration(start, end) : 'not ended';
        return (
          <li key={id} className={isPart ? styles.part : undefined}>
            <span className={styles.label}>{name}</span>
            <span className={styles.track} title={`${instantText(start)}, ${took}. ${note}`}>
              <span
                className={`${styles.bar} ${styles[tone] ?? ''} ${end ? '' : styles.open}`}
                style={{ left: `${left}%`, width: `max(2px, ${length}%)` }}
              />
            </span>
            <span className={styles.time}>
              {took}
              <small>{note}</small>
            </span>
          </li>
        );
      })}
    </ol>
  );
}
