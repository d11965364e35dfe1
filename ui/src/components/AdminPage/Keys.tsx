import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  CreateKeyDocument,
  KeysDocument,
  type KeysQuery,
  RevokeKeyDocument,
  RightsDocument,
  RotateKeyDocument,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { Badge, type Tone } from '../Badge/Badge';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { CopyField } from '../CopyField/CopyField';
import { Instant } from '../Instant/Instant';
import { ErrorNote, Note } from '../Note/Note';
import { Table } from '../Table/Table';

type NamedKey = KeysQuery['admin']['keys'][number];
type Changes = ReturnType<typeof useKeyChanges>;

const TONE: Record<NamedKey['state'], Tone> = { VALID: 'good', EXPIRED: 'warn', REVOKED: 'plain' };

function useKeyChanges() {
  const effects = { stale: [KeysDocument, RightsDocument] };
  return {
    create: useChange(CreateKeyDocument, effects),
    rotate: useChange(RotateKeyDocument, effects),
    revoke: useChange(RevokeKeyDocument, effects),
  };
}

/** The named keys, and the forms to create, rotate and revoke them. */
export function Keys() {
  const [all, setAll] = useState(false);
  const { token } = useSession();
  const { data, error, refetch } = useQuery(queryOf(KeysDocument, { all }, token));
  const changes = useKeyChanges();
  const fresh = changes.rotate.data?.rotateKey ?? changes.create.data?.createKey;
  const failure = changes.create.error ?? changes.rotate.error ?? changes.revoke.error;
  const keys = data?.admin.keys;
  return (
    <section className={styles.section} aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      <p className={styles.lead}>
        Programs and colleagues use the service with a key. A key is shown once, when it is created.
      </p>
      <NewKey changes={changes} />
      {failure && <ErrorNote error={failure} />}
      {fresh && (
        <Note title={`The key of ${fresh.key.name}. It is shown only once.`}>
          <CopyField label="the key" text={fresh.secret} />
        </Note>
      )}
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      <label className={styles.choice}>
        <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> Show expired and
        revoked keys too
      </label>
      {keys?.length === 0 && <p className={styles.lead}>There are no named keys yet.</p>}
      {keys && keys.length > 0 && (
        <Table
          label="Named keys"
          titles={['Name', 'Id', 'Tenant', 'Scopes', 'State', 'Expires', 'Last used', 'Change']}
          rows={keys.map((key) => ({
            key: key.id,
            cells: [
              key.name,
              <code key="id">{key.id}</code>,
              key.tenant,
              key.scopes.join(', '),
              <Badge key="state" tone={TONE[key.state]}>
                {key.state.toLowerCase()}
              </Badge>,
              key.expires ? <Instant key="expires" at={key.expires} /> : 'never',
              key.used ? <Instant key="used" at={key.used} /> : 'never',
              key.state === 'VALID' && <KeyActions key="actions" named={key} changes={changes} />,
            ],
          }))}
        />
      )}
    </section>
  );
}

function KeyActions({
  named: { id, name },
  changes: { create, rotate, revoke },
}: {
  named: NamedKey;
  changes: Changes;
}) {
  return (
    <span className={styles.actions}>
      <button
        type="button"
        disabled={rotate.isPending}
        onClick={() => {
          create.reset();
          rotate.mutate({ id });
        }}
        aria-label={`Rotate the key of ${name}`}
        title="Create a new key. The old key stays valid for a week."
      >
        Rotate
      </button>
      <ConfirmButton
        label="Revoke"
        object={`the key of ${name}`}
        disabled={revoke.isPending}
        onConfirm={() => revoke.mutate({ id })}
      />
    </span>
  );
}

function NewKey({ changes: { create, rotate } }: { changes: Changes }) {
  const { token } = useSession();
  const { data } = useQuery(queryOf(RightsDocument, {}, token));
  const tenants = data?.admin.tenants ?? [];
  return (
    <form
      className={styles.form}
      aria-label="Create a key"
      onSubmit={(event) => {
        const field = readForm(event);
        const days = Number(field('days'));
        rotate.reset();
        create.mutate({
          name: field('name') ?? '',
          roles: [field('role') ?? ''],
          tenant: field('tenant'),
          days: days > 0 ? days : null,
        });
      }}
    >
      <label>
        Name
        <input name="name" required maxLength={64} autoComplete="off" spellCheck={false} />
      </label>
      <label>
        Role
        <select name="role" defaultValue="viewer">
          {data?.admin.roles.map((role) => (
            <option key={role.name} value={role.name} title={role.scopes.join(', ')}>
              {role.name}
            </option>
          ))}
        </select>
      </label>
      {tenants.length > 1 && (
        <label>
          Tenant
          <input name="tenant" list="tenants" maxLength={63} autoComplete="off" spellCheck={false} />
          <datalist id="tenants">
            {tenants.map((tenant) => (
              <option key={tenant.name} value={tenant.name} />
            ))}
          </datalist>
        </label>
      )}
      <label>
        Valid for
        <select name="days" defaultValue="90">
          <option value="7">a week</option>
          <option value="90">90 days</option>
          <option value="365">a year</option>
          <option value="0">ever</option>
        </select>
      </label>
      <button type="submit" disabled={create.isPending}>
        Create a key
      </button>
    </form>
  );
}
