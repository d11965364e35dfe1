import { type FormEvent, type KeyboardEvent, useId, useRef, useState } from 'react';
import { DescribeDocument } from '../../api/generated/graphql';
import { changesOf, MOST_NAME, MOST_TEXT, type Stated } from '../../facts/statements';
import { useChange } from '../../hooks/useChange';
import { useReturnFocus } from '../../hooks/useReturnFocus';
import { ErrorNote } from '../Note/Note';
import type { DescriptionEditorProps } from './DescriptionEditor';
import styles from './DescriptionEditor.module.css';
import { NamesField } from './NamesField';

interface DescriptionFormProps extends DescriptionEditorProps {
  onClose: () => void;
}

/** The form for owners, stewards, tags, terms and the description of a node. */
export function DescriptionForm({ node, name, descriptions, stale, onClose }: DescriptionFormProps) {
  const [stated, setStated] = useState<Stated>(() => ({
    ...descriptions,
    description: descriptions.description ?? '',
  }));
  const form = useRef<HTMLFormElement>(null);
  const text = useId();
  useReturnFocus(form);
  const change = useChange(DescribeDocument, { stale, onSuccess: onClose });
  const changes = changesOf(descriptions, stated);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (changes.length > 0) change.mutate({ node, changes });
    else onClose();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onClose();
  };
  const set = (part: Partial<Stated>) => setStated({ ...stated, ...part });
  return (
    <form
      ref={form}
      tabIndex={-1}
      className={styles.form}
      aria-label={`What describes ${name}`}
      onSubmit={onSubmit}
      onKeyDown={onKeyDown}
    >
      <NamesField label="Owners" one="owner" names={stated.owners} onChange={(owners) => set({ owners })} />
      <NamesField label="Stewards" one="steward" names={stated.stewards} onChange={(stewards) => set({ stewards })} />
      <NamesField label="Tags" one="tag" names={stated.tags} onChange={(tags) => set({ tags })} />
      <NamesField label="Terms" one="term" names={stated.terms} onChange={(terms) => set({ terms })} suggest />
      <label htmlFor={text} className={styles.label}>
        Description
      </label>
      <textarea
        id={text}
        rows={3}
        className={styles.field}
        maxLength={MOST_TEXT}
        value={stated.description}
        onChange={({ target }) => set({ description: target.value })}
      />
      <p className={styles.hint}>
        Names have at most {MOST_NAME} characters. The service keeps who changed what, and when.
      </p>
      {change.error && <ErrorNote error={change.error} />}
      <p className={styles.buttons}>
        <button type="submit" disabled={change.isPending}>
          {change.isPending ? 'Saving …' : 'Save'}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <span role="status" className={styles.hint}>
          {changes.length > 0 && `${changes.length} ${changes.length === 1 ? 'change' : 'changes'} not saved`}
        </span>
      </p>
    </form>
  );
}
