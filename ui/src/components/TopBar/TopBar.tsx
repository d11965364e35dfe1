import { useQuery } from '@tanstack/react-query';
import { ServiceDocument } from '../../api/generated/first/graphql';
import { queryOf } from '../../api/query';
import { useLocation } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import { type Theme, useTheme } from '../../hooks/useTheme';
import { HOME } from '../../location/location';
import { isOpenTo, PAGES } from '../../pages';
import { Badge } from '../Badge/Badge';
import { FailureBadge } from '../FailureBadge/FailureBadge';
import { Icon, type IconName } from '../Icon/Icon';
import { Link } from '../Link/Link';
import { SaveView } from '../SavedViews/SaveView';
import { SearchBox } from '../SearchBox/SearchBox';
import { SignOut } from '../SignOut/SignOut';
import styles from './TopBar.module.css';

const REFRESH_MS = 15_000;
const THEME_ICON: Record<Theme, IconName> = { system: 'system', light: 'sun', dark: 'moon' };

interface TopBarProps {
  /** Whether the bar contains the search. The start page has a larger one. */
  search: boolean;
}

/** The bar above every page: links to the pages of the session, the search, the state of the service, and the theme. */
export function TopBar({ search }: TopBarProps) {
  const [theme, nextTheme] = useTheme();
  const { scopes } = useSession();
  const location = useLocation();
  return (
    <header className={styles.bar}>
      <Link to={HOME} className={styles.brand} aria-label="Headwater, all datasets">
        <img src="./icon.svg" alt="" width="22" height="22" />
        Headwater
      </Link>
      <div className={styles.search}>{search && <SearchBox />}</div>
      <div className={styles.status}>
        <FailureBadge />
        <ServiceState />
        {PAGES.filter((page) => !page.isItem && isOpenTo(page, scopes)).map(({ name, title }) => (
          <Link key={name} to={{ ...HOME, page: name }}>
            {title}
          </Link>
        ))}
        {search && <SaveView location={location} />}
        <SignOut />
        <button
          type="button"
          className={styles.theme}
          onClick={nextTheme}
          aria-label={`Theme: ${theme}. Change it`}
          title={`Theme: ${theme}`}
        >
          <Icon name={THEME_ICON[theme]} />
        </button>
      </div>
    </header>
  );
}

function ServiceState() {
  const { data, isError } = useQuery({ ...queryOf(ServiceDocument, {}), refetchInterval: REFRESH_MS });
  if (isError) return <Badge tone="bad">service not reached</Badge>;
  if (!data) return null;
  const { runs, captures, store, pending } = data.service;
  return (
    <>
      <span className={styles.counts} title="Known runs, queries with captured records, and the store of the graph">
        <b>{runs.toLocaleString('en')}</b> runs · <b>{captures.toLocaleString('en')}</b> captures · {store}
      </span>
      {pending > 0 && <Badge tone="accent">{pending.toLocaleString('en')} events on their way</Badge>}
    </>
  );
}
