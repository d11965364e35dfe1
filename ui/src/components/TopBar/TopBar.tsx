import { useService } from '../../hooks/useService';
import { useSession } from '../../hooks/useSession';
import { type Theme, useTheme } from '../../hooks/useTheme';
import { ADMIN, HOME } from '../../location/location';
import { Badge } from '../Badge/Badge';
import { Icon, type IconName } from '../Icon/Icon';
import { Link } from '../Link/Link';
import { SearchBox } from '../SearchBox/SearchBox';
import { SignOut } from '../SignOut/SignOut';
import styles from './TopBar.module.css';

const THEME_ICON: Record<Theme, IconName> = { system: 'system', light: 'sun', dark: 'moon' };

interface TopBarProps {
  /** Whether to offer the search here; the start page has its own, larger one. */
  search: boolean;
}

/** What stands above every view: the way home, the search, the state of the service, administration, sign-out, the theme. */
export function TopBar({ search }: TopBarProps) {
  const [theme, nextTheme] = useTheme();
  const { scopes } = useSession();
  const administers = scopes.includes('admin') || scopes.includes('audit');
  return (
    <header className={styles.bar}>
      <Link to={HOME} className={styles.brand} aria-label="Headwater, all datasets">
        <img src="./icon.svg" alt="" width="22" height="22" />
        Headwater
      </Link>
      <div className={styles.search}>{search && <SearchBox />}</div>
      <div className={styles.status}>
        <ServiceState />
        {administers && <Link to={ADMIN}>Administration</Link>}
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
  const { data, isError } = useService();
  if (isError) return <Badge tone="bad">service not reached</Badge>;
  if (!data) return null;
  return (
    <>
      <span
        className={styles.counts}
        title="Runs of jobs that are known, queries whose records were captured, and where the graph is kept"
      >
        <b>{data.runs.toLocaleString('en')}</b> runs · <b>{data.captures.toLocaleString('en')}</b> captures ·{' '}
        {data.store}
      </span>
      {data.pending > 0 && <Badge tone="accent">{data.pending.toLocaleString('en')} events on their way</Badge>}
    </>
  );
}
