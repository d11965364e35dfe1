import { type KeyboardEvent, Suspense, useId, useRef, useState } from 'react';
import type { Subject } from '../../facts/rules';
import { useSession } from '../../hooks/useSession';
import { split } from '../../split';
import styles from './NotifyRules.module.css';

const RuleList = split(async () => (await import('./RuleList')).RuleList);

export interface NotifyRulesProps {
  subject: Subject;
  /** Name of the dataset or job, for screen readers. */
  name: string;
}

/** The button “Notify me”: lists, creates and removes notification rules about a dataset or a job. */
export function NotifyRules(props: NotifyRulesProps) {
  const [isOpen, setOpen] = useState(false);
  const { scopes } = useSession();
  const panel = useId();
  const button = useRef<HTMLButtonElement>(null);
  const section = useRef<HTMLElement>(null);
  if (!scopes.includes('replay')) return null;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen) return;
    setOpen(false);
    button.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel from each element inside it
    <div className={styles.rules} onKeyDown={onKeyDown}>
      <button ref={button} type="button" aria-expanded={isOpen} aria-controls={panel} onClick={() => setOpen(!isOpen)}>
        Notify me
      </button>
      {isOpen && (
        <section
          id={panel}
          ref={section}
          tabIndex={-1}
          className={styles.panel}
          aria-label={`Notifications about ${props.name}`}
        >
          <Suspense fallback={<p>Loading …</p>}>
            <RuleList {...props} onChange={() => section.current?.focus()} />
          </Suspense>
        </section>
      )}
    </div>
  );
}
