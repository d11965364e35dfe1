import { useQuery } from '@tanstack/react-query';
import { ConsumersDocument, type ConsumersQuery, type ConsumptionMode } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { jobTitle } from '../../graph/names';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

type Consumer = ConsumersQuery['consumers'][number];

const MODE: Record<ConsumptionMode, string> = {
  ALL: 'the whole dataset',
  NEW: 'new blocks',
  OLD: 'blocks it has read before',
  UNKNOWN: 'unknown',
};

/** The jobs that read a dataset, with their cursors. */
export function Consumers({ dataset }: { dataset: string }) {
  const { data, error, isPending, refetch } = useQuery(queryOf(ConsumersDocument, { dataset }));
  return (
    <section className={styles.section} aria-labelledby="consumers">
      <h2 id="consumers">Consumers</h2>
      <p className={styles.lead}>
        The cursor of a job is the last block that one of its completed runs read. The job has not read later blocks.
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the consumers" rows={3} />}
      {data?.consumers.length === 0 && <p className={styles.lead}>No known job reads this dataset.</p>}
      {data && data.consumers.length > 0 && (
        <Table
          label="Consumers, the furthest behind first"
          titles={['Job', 'Reads', 'Cursor', 'Unread', 'Unread rows', 'Unread since']}
          rows={data.consumers.map((consumer) => ({
            key: consumer.job.id,
            cells: cellsOf(consumer),
            isMarked: consumer.unreadBlocks > 0,
          }))}
        />
      )}
    </section>
  );
}

function cellsOf({ job, mode, cursor, isInferred, unreadBlocks, unreadRows, unreadSince }: Consumer) {
  return [
    <Link key="job" to={{ ...HOME, page: 'job', item: job.id }} title={job.name}>
      {jobTitle(job.name)}
    </Link>,
    MODE[mode],
    cursor === null ? (
      'no completed run'
    ) : (
      <div key="cursor">
        block {cursor}{' '}
        {isInferred && (
          <Badge title="No capture names the files that the run read, so the cursor follows from the start of the run.">
            inferred
          </Badge>
        )}
      </div>
    ),
    unreadBlocks === 0 ? 'nothing' : `${unreadBlocks.toLocaleString('en')} ${unreadBlocks === 1 ? 'block' : 'blocks'}`,
    unreadBlocks === 0 ? '' : (unreadRows?.toLocaleString('en') ?? 'unknown'),
    unreadSince && <Instant key="since" at={unreadSince} relative />,
  ];
}
