import type { Location } from '../../location/location';
import { Link } from '../Link/Link';
import styles from './Breadcrumb.module.css';

interface BreadcrumbProps {
  /** The steps from the start page. The last step is the current page. */
  steps: readonly { label: string; to?: Location }[];
}

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
