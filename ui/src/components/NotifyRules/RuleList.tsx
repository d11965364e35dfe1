import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  CreateTriggerDocument,
  NotifyRulesDocument,
  RemoveTriggerDocument,
  TriggersDocument,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { definitionOf, isRuleOf, isSameRule, kindsOf, targetOf } from '../../facts/rules';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import { Badge } from '../Badge/Badge';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { ErrorNote, Note } from '../Note/Note';
import type { NotifyRulesProps } from './NotifyRules';
import styles from './NotifyRules.module.css';

const STALE = { stale: [NotifyRulesDocument, TriggersDocument] };

/** The rules, and the form for another. `onChange` moves the focus, because the button of a removed rule disappears. */
export function RuleList({ subject, name, onChange }: NotifyRulesProps & { onChange: () => void }) {
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
            <select className={styles.field} value={kind} onChange={({ target }) => setKind(target.value)}>
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
              <input
                className={styles.field}
                name="hours"
                type="number"
                min={1}
                max={8760}
                step={1}
                required
                defaultValue={24}
              />
            </label>
          )}
          <label>
            Notify
            <select className={styles.field} name="target">
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
