import { type FormEvent, useState } from 'react';
import {
  ACTOR_LEVELS,
  type ActorLevel,
  atLevel,
  DATA_LEVELS,
  type DataLevel,
  HIDE_JOBS,
  isDrawable,
  isWhole,
  toggleMask,
  type ViewChoice,
  WHOLE,
} from '../../graph/zoom';
import { Icon } from '../Icon/Icon';
import styles from './ViewControls.module.css';

interface ViewControlsProps {
  choice: ViewChoice;
  onChange: (choice: ViewChoice) => void;
}

/** The controls for the levels and masks of the drawing. */
export function ViewControls({ choice, onChange }: ViewControlsProps) {
  const named = choice.masks.filter((mask) => mask !== HIDE_JOBS);
  return (
    <fieldset className={styles.controls}>
      <legend className="visually-hidden">How the lineage is drawn</legend>
      <label title="From platforms to single files and columns">
        Data as
        <select value={choice.data} onChange={(event) => onChange(atLevel(choice, event.target.value as DataLevel))}>
          {DATA_LEVELS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label title="From systems to single stages and tasks">
        Jobs as
        <select
          value={choice.actors}
          onChange={(event) => onChange({ ...choice, actors: event.target.value as ActorLevel })}
        >
          {ACTOR_LEVELS.map(({ value, label }) => (
            <option key={value} value={value} disabled={!isDrawable({ data: choice.data, actors: value })}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        <input
          type="checkbox"
          checked={choice.masks.includes(HIDE_JOBS)}
          onChange={() => onChange(toggleMask(choice, HIDE_JOBS))}
        />
        Hide jobs
      </label>
      <label title="Only the beginnings, the ends, and this dataset">
        <input
          type="checkbox"
          checked={choice.ends}
          onChange={(event) => onChange({ ...choice, ends: event.target.checked })}
        />
        Ends only
      </label>
      <HideNames onHide={(pattern) => onChange(toggleMask(choice, `name=${pattern}`))} />
      {named.map((mask) => (
        <button
          key={mask}
          type="button"
          className={styles.chip}
          aria-label={`Show again: ${mask}`}
          onClick={() => onChange(toggleMask(choice, mask))}
        >
          {mask}
          <Icon name="close" size={12} />
        </button>
      ))}
      {!isWhole(choice) && (
        <button type="button" className={styles.reset} onClick={() => onChange(WHOLE)}>
          Show everything
        </button>
      )}
    </fieldset>
  );
}

function HideNames({ onHide }: { onHide: (pattern: string) => void }) {
  const [pattern, setPattern] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!pattern.trim()) return;
    onHide(pattern.trim());
    setPattern('');
  };
  return (
    <form className={styles.names} onSubmit={submit}>
      <input
        type="text"
        aria-label="Hide names like"
        placeholder="Hide names like *tmp*"
        spellCheck={false}
        autoComplete="off"
        value={pattern}
        onChange={(event) => setPattern(event.target.value)}
      />
    </form>
  );
}
