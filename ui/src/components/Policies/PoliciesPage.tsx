import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type DeviationState, PoliciesDocument, RemovePolicyDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { Instant } from '../Instant/Instant';
import { ErrorNote, Note } from '../Note/Note';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';
import { CarriedTags } from './CarriedTags';
import { ContractCheck } from './ContractCheck';
import { DeviationTable } from './DeviationTable';
import { PolicyForm } from './PolicyForm';

const SHOWN = 200;
const STATES = [
  { value: 'OPEN', label: 'Open' },
  { value: 'ACCEPTED', label: 'Accepted' },
  { value: 'FIXED', label: 'Fixed' },
] as const;

/** What policies and contracts demand of the lake, what deviates from it, and where tags flow. */
export function PoliciesPage() {
  const { scopes } = useSession();
  const [state, setState] = useState<DeviationState>('OPEN');
  const { data, error, refetch } = useQuery({
    ...queryOf(PoliciesDocument, { states: [state], policy: null, first: SHOWN }),
    retry: false,
  });
  const remove = useChange(RemovePolicyDocument, { stale: [PoliciesDocument] });
  const mayDeclare = scopes.includes('declare');
  return (
    <div className={styles.page}>
      <h1 className={styles.title}>Policies</h1>
      <section className={styles.section} aria-labelledby="deviations">
        <h2 id="deviations">Deviations</h2>
        <p className={styles.lead}>
          Flows that a policy forbids, and datasets that lack what it demands. Each new run is checked.
        </p>
        <SegmentedControl label="State of the deviations" options={STATES} value={state} onChange={setState} />
        {error && <ErrorNote error={error} onRetry={() => refetch()} />}
        {!data && !error && <Skeleton label="Loading the deviations" rows={4} />}
        {data && <DeviationTable deviations={data.deviations} mayAccept={mayDeclare && state === 'OPEN'} />}
        {data && data.deviations.length === SHOWN && <Note>These are the latest {SHOWN}.</Note>}
      </section>
      <section className={styles.section} aria-labelledby="policies">
        <h2 id="policies">Applied policies</h2>
        {data?.policies.length === 0 && (
          <p className={styles.lead}>
            There are no policies yet. <code>headwater policy infer</code> drafts one from the observed flows.
          </p>
        )}
        {data && data.policies.length > 0 && (
          <Table
            label="Applied policies"
            titles={['Name', 'Version', 'By', 'Since', 'Text', ...(mayDeclare ? ['Change'] : [])]}
            rows={data.policies.map(({ name, version, author, at, text }) => ({
              key: name,
              cells: [
                name,
                version,
                author,
                <Instant key="at" at={at} />,
                <details key="text">
                  <summary>Show</summary>
                  <pre>{text}</pre>
                </details>,
                ...(mayDeclare
                  ? [
                      <span key="change" className={styles.inline}>
                        <ConfirmButton
                          label="Remove"
                          object={`the policy ${name}`}
                          disabled={remove.isPending}
                          onConfirm={() => remove.mutate({ name })}
                        />
                      </span>,
                    ]
                  : []),
              ],
            }))}
          />
        )}
        {remove.error && <ErrorNote error={remove.error} />}
        <PolicyForm mayApply={mayDeclare} />
      </section>
      <CarriedTags />
      <ContractCheck />
    </div>
  );
}
