import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { AuditLog } from '../AuditLog/AuditLog';
import { Keys } from './Keys';
import { Rights } from './Rights';

/** Keys, roles, tenants and people for the scope `admin`, and the audit log for the scope `audit`. */
export function AdminPage() {
  const { scopes } = useSession();
  return (
    <div className={styles.page}>
      <h1 className={styles.title}>Administration</h1>
      {scopes.includes('admin') && <Keys />}
      {scopes.includes('admin') && <Rights />}
      {scopes.includes('audit') && <AuditLog />}
    </div>
  );
}
