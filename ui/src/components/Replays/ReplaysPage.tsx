import { useQuery } from '@tanstack/react-query';
import { ReplaysDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { duration } from '../../facts/time';
import { jobTitleOf, titleOf } from '../../graph/names';
import { isRunning } from '../../hooks/useTraceJob';
import { HOME } from '../../location/location';
import type { PageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { Breadcrumb } from '../Breadcrumb/Breadcrumb';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';
import { ReplayView } from './ReplayView';
import { kindText, REFRESH_MS, TONE } from './replayStates';
import { selectionText } from './selection';

const FIRST = 50;

/** The latest replays, or the replay in the address. */
export function ReplaysPage({ location: { item } }: PageProps) {
  return (
    <div className={styles.page}>
      {item && (
        <Breadcrumb steps={[{ label: 'Replays', to: { ...HOME, page: 'replays' } }, { label: item.slice(0, 8) }]} />
      )}
      <h1 className={styles.title}>{item ? 'Replay' : 'Replays'}</h1>
      {item ? <ReplayView id={item} /> : <ReplayList />}
    </div>
  );
}

function ReplayList() {
  const { data, error, isPending, refetch } = useQuery({
    ...queryOf(ReplaysDocument, { first: FIRST }),
    refetchInterval: (query) => (query.state.data?.replays.some(({ state }) => isRunning(state)) ? REFRESH_MS : false),
  });
  return (
    <section className={styles.section} aria-label="Latest replays">
      <p className={styles.lead}>
        A replay runs recorded programs again into a shadow folder, and compares the result with the real data. To start
        one, open a dataset and select “Run again”.
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the replays" rows={4} />}
      {data?.replays.length === 0 && <p className={styles.lead}>There are no replays yet.</p>}
      {data && data.replays.length > 0 && (
        <Table
          label="Replays, the latest first"
          titles={['Started', 'State', 'Kind', 'Dataset', 'Records', 'Programs', 'Time']}
          rows={data.replays.map(({ id, startedAt, endedAt, state, kind, output, records, steps }) => ({
            key: id,
            cells: [
              <Link key="started" to={{ ...HOME, page: 'replays', item: id }}>
                <Instant at={startedAt} />
              </Link>,
              <Badge key="state" tone={TONE[state]}>
                {state.toLowerCase()}
              </Badge>,
              kindText(kind),
              titleOf(output),
              records.map(selectionText).join(', '),
              steps.map(({ job }) => jobTitleOf(job)).join(' → '),
              endedAt && duration(startedAt, endedAt),
            ],
          }))}
        />
      )}
    </section>
  );
}
