import { useQuery } from '@tanstack/react-query';
import { RightsDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { ErrorNote, Note } from '../Note/Note';
import { Table } from '../Table/Table';

/** The scopes of each role, the tenants, and the grants to people who sign in. */
export function Rights() {
  const { token } = useSession();
  const { data, error } = useQuery(queryOf(RightsDocument, {}, token));
  if (error) return <ErrorNote error={error} />;
  if (!data) return null;
  const { roles, tenants, people } = data.admin;
  return (
    <>
      <section className={styles.section} aria-labelledby="roles">
        <h2 id="roles">Roles</h2>
        <p className={styles.lead}>A role is a set of scopes. The scope “records” shows the values of records.</p>
        <Table
          label="Roles"
          titles={['Role', 'Scopes']}
          rows={roles.map((role) => ({ key: role.name, cells: [role.name, role.scopes.join(', ')] }))}
        />
      </section>
      <section className={styles.section} aria-labelledby="tenant-list">
        <h2 id="tenant-list">Tenants</h2>
        <p className={styles.lead}>Each tenant has its own lineage and cannot see the lineage of others.</p>
        <Table
          label="Tenants"
          titles={['Tenant', 'Valid keys', 'Grants to people']}
          rows={tenants.map(({ name, keys, grants }) => ({ key: name, cells: [name, keys, grants] }))}
        />
      </section>
      <section className={styles.section} aria-labelledby="people">
        <h2 id="people">People</h2>
        {people.fault && (
          <Note tone="bad" title={people.fault}>
            <p>Nobody can sign in until people.toml in the service’s home is valid.</p>
          </Note>
        )}
        {!people.fault && people.issuer === null && (
          <p className={styles.lead}>
            Sign-in is off. To turn on OpenID Connect, name the issuer in people.toml in the service’s home.
          </p>
        )}
        {people.issuer !== null && (
          <>
            <p className={styles.lead}>
              People sign in at <code>{people.issuer}</code>. Their scopes are granted in people.toml in the service’s
              home.
            </p>
            <Table
              label="Grants"
              titles={['Claim', 'Value', 'Tenant', 'Scopes']}
              rows={people.grants.map(({ claim, value, tenant, scopes }) => ({
                key: [...claim, value, tenant, ...scopes].join('\n'),
                cells: [claim.join(' → '), value, tenant, scopes.join(', ')],
              }))}
            />
          </>
        )}
      </section>
    </>
  );
}
