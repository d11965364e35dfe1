import { useQuery } from '@tanstack/react-query';
import { type TriggerState, TriggersDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { useSession } from '../../hooks/useSession';
import { HOME, type Location } from '../../location/location';
import type { PageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Badge, type Tone } from '../Badge/Badge';
import { Breadcrumb } from '../Breadcrumb/Breadcrumb';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';
import { TriggerForm } from './TriggerForm';
import { TriggerView } from './TriggerView';

export const TRIGGERS: Location = { ...HOME, page: 'triggers' };
export const TONE: Record<TriggerState, Tone> = { ACTIVE: 'good', PAUSED: 'plain', STOPPED: 'bad' };

/** The triggers with a form for a new one, or the trigger in the address. */
export function TriggersPage({ location: { item } }: PageProps) {
  const { scopes } = useSession();
  return (
    <div className={styles.page}>
      {item && <Breadcrumb steps={[{ label: 'Triggers', to: TRIGGERS }, { label: item }]} />}
      <h1 className={styles.title}>{item ?? 'Triggers'}</h1>
      {item ? <TriggerView name={item} /> : <TriggerList />}
      {!item && scopes.includes('replay') && <TriggerForm />}
    </div>
  );
}

function TriggerList() {
  const { data, error, isPending, refetch } = useQuery(queryOf(TriggersDocument, {}));
  return (
    <section className={styles.section} aria-label="All triggers">
      <p className={styles.lead}>
        A trigger starts an action when its condition is fulfilled, once for each cause, with the rights of its owner.
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the triggers" rows={4} />}
      {data?.triggers.length === 0 && <p className={styles.lead}>There are no triggers yet.</p>}
      {data && data.triggers.length > 0 && (
        <Table
          label="Triggers"
          titles={['Name', 'State', 'Condition', 'Action', 'Owner', 'Last fired']}
          rows={data.triggers.map(({ name, state, condition, action, owner, lastFiredAt }) => ({
            key: name,
            cells: [
              <Link key="name" to={{ ...TRIGGERS, item: name }}>
                {name}
              </Link>,
              <Badge key="state" tone={TONE[state]}>
                {state.toLowerCase()}
              </Badge>,
              condition,
              action,
              owner,
              lastFiredAt ? <Instant key="fired" at={lastFiredAt} relative /> : 'never',
            ],
          }))}
        />
      )}
    </section>
  );
}
