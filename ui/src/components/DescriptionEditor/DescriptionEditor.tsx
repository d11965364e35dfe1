import { type FormEvent, type KeyboardEvent, useId, useRef, useState } from 'react';
import { DescribeDocument, type DescribedFragment } from '../../api/generated/graphql';
import type { Question } from '../../api/query';
import { changesOf, MOST_NAME, MOST_TEXT, type Stated } from '../../facts/statements';
import { useChange } from '../../hooks/useChange';
import { useReturnFocus } from '../../hooks/useReturnFocus';
import { useSession } from '../../hooks/useSession';
import { ErrorNote } from '../Note/Note';
import styles from './DescriptionEditor.module.css';
import { NamesField } from './NamesField';

interface DescriptionEditorProps {
  /** Id of the described node. */
  node: string;
  /** Name of the node, for screen readers. */
  name: string;
  descriptions: DescribedFragment['descriptions'];
  /** Questions whose answers contain the descriptions. */
  stale: readonly Question[];
}

/** A button that opens the form for owners, tags, terms and the description. It is missing in a session without the right to declare. */
export function DescriptionEditor(props: DescriptionEditorProps) {
  const [isOpen, setOpen] = useState(false);
  const { scopes } = useSession();
  if (!scopes.includes('declare')) return null;
  return (
    <div className={styles.editor}>
      <button
        type="button"
        className={styles.open}
        aria-expanded={isOpen}
        aria-label={`Edit what describes ${props.name}`}
        onClick={() => setOpen(!isOpen)}
      >
        Edit
      </button>
      {isOpen && <Form {...props} onClose={() => setOpen(false)} />}
    </div>
  );
}

function Form({ node, name, descriptions, stale, onClose }: DescriptionEditorProps & { onClose: () => void }) {
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
        maxLength={MOST_TEXT}
        value={stated.description}
        onChange={({ target }) => set({ description: target.value })}
      />
      <p className={styles.hint}>
        Names have at most {MOST_NAME} characters. The service keeps who changed what, and when.
      </p>
      {change.error && <ErrorNote error={change.error} />}
      <p className={styles.actions}>
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
