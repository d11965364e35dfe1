import { useId } from 'react';
import styles from './SegmentedControl.module.css';

interface SegmentedControlProps<Value extends string> {
  /** Name of the choice for screen readers. */
  label: string;
  options: readonly { value: Value; label: string; title?: string }[];
  value: Value;
  onChange: (value: Value) => void;
}

/** A choice of one of a few visible options. Arrow keys move between them. */
export function SegmentedControl<Value extends string>({
  label,
  options,
  value,
  onChange,
}: SegmentedControlProps<Value>) {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={label} className={styles.group}>
      {options.map((option) => (
        <label key={option.value} className={styles.option} title={option.title}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChange(option.value)} />
          <span>{option.label}</span>
        </label>
      ))}
    </div>
  );
}
