import { type FormEvent, useState } from 'react';
import type { KeysQuery } from '../../api/generated/graphql';
import { instantText } from '../../facts/time';
import { useKeyChanges, useKeys, useRights } from '../../hooks/useAdmin';
import { Badge, type Tone } from '../Badge/Badge';
import { CopyField } from '../CopyField/CopyField';
import { ErrorNote, Note } from '../Note/Note';
import styles from './AdminPage.module.css';

type NamedKey = KeysQuery['admin']['keys'][number];
type Changes = ReturnType<typeof useKeyChanges>;

const TONE: Record<NamedKey['state'], Tone> = { VALID: 'good', EXPIRED: 'warn', REVOKED: 'plain' };

/** Named keys: who holds one, what it opens, when it was last used; to make, exchange and revoke them. */
export function Keys() {
  const [all, setAll] = useState(false);
  const { data, error, refetch } = useKeys(all);
  const changes = useKeyChanges();
  const made = changes.rotate.data?.rotateKey ?? changes.make.data?.createKey;
  const failed = changes.make.error ?? changes.rotate.error ?? changes.revoke.error;
  return (
    <section className={styles.section} aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      <p className={styles.lead}>
        A program or a colleague asks the service with a key. A key is shown once, when it is made.
      </p>
      <NewKey changes={changes} />
      {failed && <ErrorNote error={failed} />}
      {made && (
        <Note title={`The key of ${made.key.name}. It is shown this once.`}>
          <CopyField label="the key" text={made.secret} />
        </Note>
      )}
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      <label className={styles.choice}>
        <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> Show expired and
        revoked keys too
      </label>
      {data?.length === 0 && <p className={styles.lead}>There are no named keys yet.</p>}
      {data && data.length > 0 && (
        // A table that is wider than the window is scrolled by keys, too.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        <section className={styles.scroll} aria-label="List of keys" tabIndex={0}>
          <table aria-label="Named keys">
            <thead>
              <tr>
                {['Name', 'Id', 'Tenant', 'May', 'State', 'Expires', 'Last used', 'Change'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.map((key) => (
                <KeyRow key={key.id} named={key} changes={changes} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  );
}

function KeyRow({ named, changes }: { named: NamedKey; changes: Changes }) {
  const [asks, setAsks] = useState(false);
  const { rotate, revoke } = changes;
  return (
    <tr>
      <th scope="row">{named.name}</th>
      <td>
        <code>{named.id}</code>
      </td>
      <td>{named.tenant}</td>
      <td>{named.scopes.join(', ')}</td>
      <td>
        <Badge tone={TONE[named.state]}>{named.state.toLowerCase()}</Badge>
      </td>
      <td>{named.expires ? instantText(named.expires) : 'never'}</td>
      <td>{named.used ? instantText(named.used) : 'never'}</td>
      <td>
        {named.state === 'VALID' && (
          <span className={styles.actions}>
            <button
              type="button"
              disabled={rotate.isPending}
              onClick={() => {
                changes.make.reset();
                rotate.mutate(named.id);
              }}
              aria-label={`Exchange the key of ${named.name}`}
              title="A new key; the old one stays valid for a week"
            >
              Exchange
            </button>
            <button
              type="button"
              disabled={revoke.isPending}
              onClick={() => (asks ? revoke.mutate(named.id) : setAsks(true))}
              onBlur={() => setAsks(false)}
              aria-label={asks ? `Revoke the key of ${named.name} for good` : `Revoke the key of ${named.name}`}
            >
              {asks ? 'Really revoke' : 'Revoke'}
            </button>
          </span>
        )}
      </td>
    </tr>
  );
}

function NewKey({ changes }: { changes: Changes }) {
  const { data } = useRights();
  const tenants = data?.tenants ?? [];
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const stated = new FormData(event.currentTarget);
    const text = (name: string) => String(stated.get(name) ?? '');
    const days = Number(text('days'));
    changes.rotate.reset();
    changes.make.mutate({
      name: text('name'),
      roles: [text('role')],
      tenant: text('tenant') || null,
      days: days > 0 ? days : null,
    });
  };
  return (
    <form className={styles.form} onSubmit={submit} aria-label="Make a key">
      <label>
        Name
        <input name="name" required maxLength={64} autoComplete="off" spellCheck={false} />
      </label>
      <label>
        Role
        <select name="role" defaultValue="viewer">
          {data?.roles.map((role) => (
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
      <button type="submit" disabled={changes.make.isPending}>
        Make a key
      </button>
    </form>
  );
}
