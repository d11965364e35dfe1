import { type FormEvent, useState } from 'react';
import { jobTitleOf, titleOf } from '../../graph/names';
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
      <MaskForm onHide={(mask) => onChange(toggleMask(choice, mask))} />
      {named.map((mask) => (
        <button
          key={mask}
          type="button"
          className={styles.chip}
          aria-label={`Show again: ${mask}`}
          title={mask}
          onClick={() => onChange(toggleMask(choice, mask))}
        >
          {wordsOfMask(mask)}
          <Icon name="close" size={12} />
        </button>
      ))}
      {choice.between && (
        <button
          type="button"
          className={styles.chip}
          aria-label="Show again: what is not on the way"
          onClick={() => onChange(withoutBetween(choice))}
        >
          only the ways from or to {nodeName(choice.between)}
          <Icon name="close" size={12} />
        </button>
      )}
      {!isWhole(choice) && (
        <button type="button" className={styles.reset} onClick={() => onChange(WHOLE)}>
          Show everything
        </button>
      )}
    </fieldset>
  );
}

const KINDS = [
  { value: 'name=', label: 'Hide names like', example: '*tmp*' },
  { value: 'tag=', label: 'Hide the tag', example: 'staging' },
  { value: 'tag!=', label: 'Show only the tag', example: 'pii' },
  { value: 'owner=', label: 'Hide the owner', example: 'team:data' },
  { value: 'owner!=', label: 'Show only the owner', example: 'team:data' },
  { value: 'namespace=', label: 'Hide the namespace', example: 's3://lake' },
] as const;

/** A form for a mask: what it hides, and the value. */
function MaskForm({ onHide }: { onHide: (mask: string) => void }) {
  const [kind, setKind] = useState<(typeof KINDS)[number]>(KINDS[0]);
  const [value, setValue] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!value.trim()) return;
    onHide(`${kind.value}${value.trim()}`);
    setValue('');
  };
  return (
    <form className={styles.names} onSubmit={submit}>
      <select
        aria-label="What to hide"
        value={kind.value}
        onChange={({ target }) => setKind(KINDS.find((each) => each.value === target.value) ?? KINDS[0])}
      >
        {KINDS.map((each) => (
          <option key={each.value} value={each.value}>
            {each.label}
          </option>
        ))}
      </select>
      <input
        type="text"
        aria-label={kind.label}
        placeholder={kind.example}
        spellCheck={false}
        autoComplete="off"
        value={value}
        onChange={(event) => setValue(event.target.value)}
      />
    </form>
  );
}

/** A hidden node has its name, and not its id. Other masks have the form of the command line. */
function wordsOfMask(mask: string): string {
  return mask.startsWith('node=') ? nodeName(mask.slice('node='.length)) : mask;
}

function nodeName(id: string): string {
  return id.startsWith('job:') ? jobTitleOf(id) : titleOf(id);
}

function withoutBetween({ between: _, ...choice }: ViewChoice): ViewChoice {
  return choice;
}
