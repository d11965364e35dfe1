import { useQuery } from '@tanstack/react-query';
import { JobDocument, WritersDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { byTime, runFacts } from '../../facts/runs';
import { jobTitle } from '../../graph/names';
import { HOME } from '../../location/location';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { Durations } from '../Durations/Durations';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { RunTable } from '../RunTable/RunTable';
import { Skeleton } from '../Skeleton/Skeleton';

const FIRST = 30;
/** Each writer is a question of its own. */
const MAX_WRITERS = 10;

/** The runs of the jobs that write a dataset. */
export function RunsPage({ dataset }: DatasetPageProps) {
  const { data, error, isPending, refetch } = useQuery(queryOf(WritersDocument, { id: dataset }));
  const names = new Map(data?.lineage.nodes.map(({ id, name }) => [id, name]));
  const edges = data?.lineage.edges.toSorted((a, b) => Number(a.former) - Number(b.former)) ?? [];
  return (
    <div className={styles.tab}>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the jobs" rows={4} />}
      {data && edges.length === 0 && <p className={styles.lead}>No known job writes this dataset.</p>}
      {edges.slice(0, MAX_WRITERS).map(({ src, former }) => (
        <Writer key={src} job={src} name={names.get(src) ?? src} former={former} />
      ))}
      {edges.length > MAX_WRITERS && (
        <p className={styles.lead}>
          These are {MAX_WRITERS} of {edges.length.toLocaleString('en')} jobs.
        </p>
      )}
    </div>
  );
}

function Writer({ job, name, former }: { job: string; name: string; former: boolean }) {
  const { data, error, isPending, refetch } = useQuery(queryOf(JobDocument, { id: job, first: FIRST }));
  const runs = byTime((data?.runs.nodes ?? []).map(runFacts));
  return (
    <section className={styles.section} aria-label={`Runs of ${jobTitle(name)}`}>
      <h2>
        <Link to={{ ...HOME, page: 'job', item: job }} title={name}>
          {jobTitle(name)}
        </Link>{' '}
        {former && <Badge title="A later run of the job did not write this dataset.">former</Badge>}
      </h2>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the runs" rows={4} />}
      {data && (
        <>
          <Durations runs={runs} />
          <RunTable runs={runs} isCut={runs.length === FIRST} />
        </>
      )}
    </section>
  );
}
