import { useRights } from '../../hooks/useAdmin';
import { ErrorNote, Note } from '../Note/Note';
import styles from './AdminPage.module.css';

/** What roles open, which tenants there are, and what is granted to people who sign in. */
export function Rights() {
  const { data, error } = useRights();
  if (error) return <ErrorNote error={error} />;
  if (!data) return null;
  const { roles, tenants, people } = data;
  return (
    <>
      <section className={styles.section} aria-labelledby="roles">
        <h2 id="roles">Roles</h2>
        <p className={styles.lead}>What a key with the role may do. “records” means: see the values of records.</p>
        <Table label="Roles" titles={['Role', 'May']} rows={roles.map((role) => [role.name, role.scopes.join(', ')])} />
      </section>
      <section className={styles.section} aria-labelledby="tenants-known">
        <h2 id="tenants-known">Tenants</h2>
        <p className={styles.lead}>Each tenant has its own lineage, and sees nothing of the others.</p>
        <Table
          label="Tenants"
          titles={['Tenant', 'Valid keys', 'Grants to people']}
          rows={tenants.map((tenant) => [tenant.name, String(tenant.keys), String(tenant.grants)])}
        />
      </section>
      <section className={styles.section} aria-labelledby="people">
        <h2 id="people">People</h2>
        {people.fault && (
          <Note tone="bad" title={people.fault}>
            <p>Nobody signs in until people.toml of the service’s home is mended.</p>
          </Note>
        )}
        {!people.fault && people.issuer === null && (
          <p className={styles.lead}>
            Sign-in is off. To let people sign in by OpenID Connect, name the issuer in people.toml in the service’s
            home.
          </p>
        )}
        {people.issuer !== null && (
          <>
            <p className={styles.lead}>
              They sign in at <code>{people.issuer}</code>. What they may is granted in people.toml of the service’s
              home.
            </p>
            <Table
              label="Grants"
              titles={['Claim', 'Value', 'Tenant', 'May']}
              rows={people.grants.map((grant) => [
                grant.claim.join(' → '),
                grant.value,
                grant.tenant,
                grant.scopes.join(', '),
              ])}
            />
          </>
        )}
      </section>
    </>
  );
}

interface TableProps {
  label: string;
  titles: readonly string[];
  rows: readonly (readonly string[])[];
}

function Table({ label, titles, rows }: TableProps) {
  return (
    <div className={styles.scroll}>
      <table aria-label={label}>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.join('\n')}>
              {row.map((cell, place) => (
                // The cells of a row never change places.
                // biome-ignore lint/suspicious/noArrayIndexKey: see above
                <td key={place}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
