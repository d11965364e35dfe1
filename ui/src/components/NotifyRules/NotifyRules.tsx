import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useRef, useState } from 'react';
import {
  CreateTriggerDocument,
  NotifyRulesDocument,
  RemoveTriggerDocument,
  TriggersDocument,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { definitionOf, isRuleOf, isSameRule, kindsOf, type Subject, targetOf } from '../../facts/rules';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import { Badge } from '../Badge/Badge';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { ErrorNote, Note } from '../Note/Note';
import styles from './NotifyRules.module.css';

interface NotifyRulesProps {
  subject: Subject;
  /** Name of the dataset or job, for screen readers. */
  name: string;
}

const STALE = { stale: [NotifyRulesDocument, TriggersDocument] };

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
          <Rules {...props} onChange={() => section.current?.focus()} />
        </section>
      )}
    </div>
  );
}

/** `onChange` moves the focus, because the button of a removed rule disappears. */
function Rules({ subject, name, onChange }: NotifyRulesProps & { onChange: () => void }) {
  const { token } = useSession();
  const { data, error, refetch } = useQuery(queryOf(NotifyRulesDocument, {}, token));
  const create = useChange(CreateTriggerDocument, STALE);
  const remove = useChange(RemoveTriggerDocument, { ...STALE, onSuccess: onChange });
  const kinds = kindsOf(subject);
  const [isKnown, setKnown] = useState(false);
  const [kind, setKind] = useState(kinds[0]?.name ?? '');
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (!data) return <p>Loading …</p>;
  const rules = data.triggers.filter(({ definition }) => isRuleOf(subject, definition));
  const targets = data.notificationTargets;
  return (
    <>
      {rules.length === 0 && <p className={styles.hint}>There is no notification about {name} yet.</p>}
      <ul>
        {rules.map((rule) => (
          <li key={rule.id}>
            <span>
              <b>{targetOf(rule.definition)}</b> {rule.condition}
            </span>
            {rule.state !== 'ACTIVE' && (
              <Badge tone="warn" title={rule.reason ?? undefined}>
                {rule.state.toLowerCase()}
              </Badge>
            )}
            <span className={styles.hint}>by {rule.owner}</span>
            <ConfirmButton
              label="Remove"
              object={`the notification ${rule.condition}`}
              onConfirm={() => remove.mutate({ name: rule.name })}
            />
          </li>
        ))}
      </ul>
      {targets.length === 0 ? (
        <p className={styles.hint}>
          The operator of the service lists webhooks and mail addresses in targets.toml. There are none yet.
        </p>
      ) : (
        <form
          aria-label="New notification"
          onSubmit={(event) => {
            const read = readForm(event);
            const definition = definitionOf(subject, {
              kind,
              hours: read('hours') ?? '24',
              target: read('target') ?? '',
              suffix: Date.now().toString(36),
            });
            const isKnown = rules.some((rule) => isSameRule(rule.definition, definition));
            setKnown(isKnown);
            if (!isKnown) create.mutate({ definition });
          }}
        >
          <label>
            When
            <select value={kind} onChange={({ target }) => setKind(target.value)}>
              {kinds.map((each) => (
                <option key={each.name} value={each.name}>
                  {each.label}
                </option>
              ))}
            </select>
          </label>
          {kinds.find((each) => each.name === kind)?.hasHours && (
            <label>
              Hours
              <input name="hours" type="number" min={1} max={8760} step={1} required defaultValue={24} />
            </label>
          )}
          <label>
            Notify
            <select name="target">
              {targets.map((target) => (
                <option key={target.name} value={target.name}>
                  {target.name} ({target.kind})
                </option>
              ))}
            </select>
          </label>
          <button type="submit" disabled={create.isPending}>
            Add
          </button>
        </form>
      )}
      {isKnown && <Note tone="bad">This notification exists already.</Note>}
      {create.error && <ErrorNote error={create.error} />}
      {remove.error && <ErrorNote error={remove.error} />}
    </>
  );
}
