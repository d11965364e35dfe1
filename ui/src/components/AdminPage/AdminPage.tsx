import { useSession } from '../../hooks/useSession';
import { AuditLog } from '../AuditLog/AuditLog';
import { Note } from '../Note/Note';
import styles from './AdminPage.module.css';
import { Keys } from './Keys';
import { Rights } from './Rights';

/** Keys, roles, tenants and people for who may administer; the audit log for who may read it. */
export function AdminPage() {
  const { scopes } = useSession();
  const [administers, audits] = [scopes.includes('admin'), scopes.includes('audit')];
  return (
    <div className={styles.page}>
      <h1 className={styles.title}>Administration</h1>
      {!administers && !audits && (
        <Note title="This session may not administer.">
          <p>Sign in with the role admin or auditor, or open the page by the link of: headwater serve --admin-link</p>
        </Note>
      )}
      {administers && <Keys />}
      {administers && <Rights />}
      {audits && <AuditLog />}
    </div>
  );
}
