import { Suspense, useState } from 'react';
import type { DescribedFragment } from '../../api/generated/graphql';
import type { Question } from '../../api/query';
import { useSession } from '../../hooks/useSession';
import { split } from '../../split';
import styles from './DescriptionEditor.module.css';

const DescriptionForm = split(async () => (await import('./DescriptionForm')).DescriptionForm);

export interface DescriptionEditorProps {
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
      <Suspense fallback={null}>{isOpen && <DescriptionForm {...props} onClose={() => setOpen(false)} />}</Suspense>
    </div>
  );
}
