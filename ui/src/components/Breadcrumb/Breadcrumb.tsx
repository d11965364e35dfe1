import type { Location } from '../../location/location';
import { Link } from '../Link/Link';
import styles from './Breadcrumb.module.css';

interface BreadcrumbProps {
  /** From the start to here; the last one is here and leads nowhere. */
  steps: readonly { label: string; to?: Location }[];
}

/** The way back. */
export function Breadcrumb({ steps }: BreadcrumbProps) {
  return (
    <nav aria-label="Breadcrumb">
      <ol className={styles.crumbs}>
        {steps.map(({ label, to }) => (
          <li key={label}>{to ? <Link to={to}>{label}</Link> : <span aria-current="page">{label}</span>}</li>
        ))}
      </ol>
    </nav>
  );
}
