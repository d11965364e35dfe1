import type { ReactNode } from 'react';
import { type DirectionChoice, EVERYTHING, type SemanticsChoice } from '../../location/location';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import styles from './TraceControls.module.css';

/** What of the question changes. */
export interface TraceChange {
  semantics?: SemanticsChoice;
  direction?: DirectionChoice;
  to?: string;
}

interface TraceControlsProps {
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Id of the target dataset; none: the ends of the lineage. */
  to: string | undefined;
  /** Id of the dataset that the clicked value came from, where it is one. */
  usual: string | undefined;
  /** Datasets that can be asked for. */
  targets: readonly { id: string; name: string }[];
  onChange: (change: TraceChange) => void;
  /** What stands at the end of the line. */
  children: ReactNode;
}

const SEMANTICS = [
  { value: 'witness', label: 'Witness', title: 'Records that suffice to produce the value again' },
  { value: 'influence', label: 'Influence', title: 'Every record that had a part' },
] as const;

const DIRECTIONS = [
  { value: 'backward', label: 'Where from', title: 'Backward, to the records that it was made of' },
  { value: 'forward', label: 'Where to', title: 'Forward, to the records that were made of it' },
] as const;

/** What is asked of the trace. */
export function TraceControls({ semantics, direction, to, usual, targets, onChange, children }: TraceControlsProps) {
  return (
    <div className={styles.controls}>
      <SegmentedControl
        label="Direction"
        options={DIRECTIONS}
        value={direction}
        onChange={(value) => onChange({ direction: value })}
      />
      <SegmentedControl
        label="Semantics"
        options={SEMANTICS}
        value={semantics}
        onChange={(value) => onChange({ semantics: value })}
      />
      <label className={styles.target}>
        records of
        <select
          aria-label="Target dataset"
          value={to ?? EVERYTHING}
          onChange={(event) => onChange({ to: event.target.value })}
        >
          <option value={EVERYTHING}>{direction === 'backward' ? 'all sources' : 'the last datasets reached'}</option>
          {targets.map((target) => (
            <option key={target.id} value={target.id}>
              {target.name}
              {target.id === usual && ' (its source)'}
            </option>
          ))}
        </select>
      </label>
      <div className={styles.last}>{children}</div>
    </div>
  );
}
