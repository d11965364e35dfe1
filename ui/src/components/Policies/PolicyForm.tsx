import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApplyPolicyDocument, CheckPolicyDocument, PoliciesDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { counted } from '../../facts/text';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { DeviationTable } from './DeviationTable';

const EXAMPLE = `policy: lake
rules:
  - name: no personal data in exports
    severity: error
    must_not_flow:
      from: {tag: pii}
      to: {dataset: "exports/*"}`;

/** A text of a policy: a check shows what deviates from it, and stores nothing. Then it can be applied. */
export function PolicyForm({ mayApply }: { mayApply: boolean }) {
  const { token } = useSession();
  const [text, setText] = useState('');
  const { data, error, isFetching } = useQuery({
    ...queryOf(CheckPolicyDocument, { text }, token),
    enabled: text !== '',
    retry: false,
  });
  const apply = useChange(ApplyPolicyDocument, { stale: [PoliciesDocument], onSuccess: () => setText('') });
  const report = data?.checkPolicy;
  return (
    <>
      <form
        className={styles.form}
        aria-label="Check a policy"
        onSubmit={(event) => setText(readForm(event)('text') ?? '')}
      >
        <label className={styles.wide}>
          A policy as YAML
          <textarea name="text" rows={8} required spellCheck={false} placeholder={EXAMPLE} />
        </label>
        <fieldset>
          <button type="submit">Check the present lineage</button>
        </fieldset>
      </form>
      {isFetching && <Skeleton label="Checking the policy" rows={3} />}
      {error && <ErrorNote error={error} />}
      {report && !isFetching && (
        <>
          <p className={styles.lead} role="status">
            {report.deviations.length === 0
              ? 'Nothing deviates from this policy.'
              : `${counted(report.deviations.length, 'deviation')}. Nothing is stored yet.`}
          </p>
          {[...report.conflicts, ...report.cut.map((rule) => `The rule ${rule} has more deviations.`)].map((note) => (
            <Note key={note} tone="warn">
              {note}
            </Note>
          ))}
          {report.idle.length > 0 && (
            <Note>No node fits a selector of: {[...new Set(report.idle.map(({ rule }) => rule))].join(', ')}.</Note>
          )}
          {report.deviations.length > 0 && <DeviationTable deviations={report.deviations} />}
          {mayApply && (
            <p className={styles.actions}>
              <button type="button" disabled={apply.isPending} onClick={() => apply.mutate({ text })}>
                Apply the policy
              </button>
            </p>
          )}
          {apply.error && <ErrorNote error={apply.error} />}
        </>
      )}
    </>
  );
}
