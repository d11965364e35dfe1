import { useSession } from '../../hooks/useSession';
import type { Location } from '../../location/location';
import { HOME } from '../../location/location';
import { DATASET_PAGES, isOpenTo } from '../../pages';
import { Link } from '../Link/Link';
import styles from './DatasetTabs.module.css';

interface DatasetTabsProps {
  dataset: string;
  location: Location;
}

/** Links to the pages of a dataset that are open to the session. */
export function DatasetTabs({ dataset, location: { page } }: DatasetTabsProps) {
  const { scopes } = useSession();
  const tabs = [{ name: undefined, title: 'Rows' }, ...DATASET_PAGES.filter((each) => isOpenTo(each, scopes))];
  return (
    <nav aria-label="Pages of the dataset" className={styles.tabs}>
      {tabs.map(({ name, title }) => (
        <Link
          key={title}
          to={{ ...HOME, dataset, ...(name && { page: name }) }}
          aria-current={name === page ? 'page' : undefined}
        >
          {title}
        </Link>
      ))}
    </nav>
  );
}
