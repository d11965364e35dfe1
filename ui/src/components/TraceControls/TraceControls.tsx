import type { ReactNode } from 'react';
import type { DirectionChoice, SemanticsChoice } from '../../location/location';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import styles from './TraceControls.module.css';

export interface Target {
  id: string;
  name: string;
}

/** What of the question changes; a `to` of undefined takes the target away. */
export interface TraceChange {
  semantics?: SemanticsChoice;
  direction?: DirectionChoice;
  to?: string | undefined;
}

interface TraceControlsProps {
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Id of the target dataset; none: the ends of the lineage. */
  to: string | undefined;
  /** Datasets that can be asked for. */
  targets: readonly Target[];
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
export function TraceControls({ semantics, direction, to, targets, onChange, children }: TraceControlsProps) {
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
          value={to ?? ''}
          onChange={(event) => onChange({ to: event.target.value || undefined })}
        >
          <option value="">{direction === 'backward' ? 'all sources' : 'the last datasets reached'}</option>
          {targets.map((target) => (
            <option key={target.id} value={target.id}>
              {target.name}
            </option>
          ))}
        </select>
      </label>
      <div className={styles.last}>{children}</div>
    </div>
  );
}
