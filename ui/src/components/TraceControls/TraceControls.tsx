import type { ReactNode } from 'react';
import { type DirectionChoice, EVERYTHING, type SemanticsChoice } from '../../location/location';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import styles from './TraceControls.module.css';

export interface TraceChange {
  semantics?: SemanticsChoice;
  direction?: DirectionChoice;
  to?: string;
}

interface TraceControlsProps {
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Id of the target dataset. Without one, the trace goes to the ends of the lineage. */
  to: string | undefined;
  /** Id of the default target, if there is one. */
  usual: string | undefined;
  targets: readonly { id: string; name: string }[];
  onChange: (change: TraceChange) => void;
  children: ReactNode;
}

const SEMANTICS = [
  { value: 'witness', label: 'Witness', title: 'Records that are enough to produce the value again' },
  { value: 'influence', label: 'Influence', title: 'Every record that had a part' },
] as const;

const DIRECTIONS = [
  { value: 'backward', label: 'Where from', title: 'Backward to the source records' },
  { value: 'forward', label: 'Where to', title: 'Forward to the resulting records' },
] as const;

/** The direction, semantics and target of a trace. */
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
