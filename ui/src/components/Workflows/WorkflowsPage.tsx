import { useQuery } from '@tanstack/react-query';
import { WorkflowsDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { HOME, type Location } from '../../location/location';
import type { PageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { Breadcrumb } from '../Breadcrumb/Breadcrumb';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';
import { WorkflowView } from './WorkflowView';

const WORKFLOWS: Location = { ...HOME, page: 'workflows' };

/** The workflows of the home, or the workflow in the address. */
export function WorkflowsPage({ location: { item } }: PageProps) {
  return (
    <div className={styles.page}>
      {item && <Breadcrumb steps={[{ label: 'Workflows', to: WORKFLOWS }, { label: item }]} />}
      <h1 className={styles.title}>{item ?? 'Workflows'}</h1>
      {item ? <WorkflowView name={item} /> : <WorkflowList />}
    </div>
  );
}

function WorkflowList() {
  const { data, error, isPending, refetch } = useQuery(queryOf(WorkflowsDocument, {}));
  return (
    <section className={styles.section} aria-label="All workflows">
      <p className={styles.lead}>
        A workflow runs registered programs block by block: each reads what it has not read.
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the workflows" rows={4} />}
      {data?.workflows.length === 0 && (
        <p className={styles.lead}>There are no workflows yet. Add one with: headwater workflow apply FILE</p>
      )}
      {data && data.workflows.length > 0 && (
        <Table
          label="Workflows"
          titles={['Name', 'State', 'Tasks', 'With unread blocks', 'Applied']}
          rows={data.workflows.map(({ name, appliedAt, isRunning, problem, tasks }) => {
            const hasFailed = problem !== null || tasks.some(({ state }) => state === 'FAILED');
            return {
              key: name,
              cells: [
                <Link key="name" to={{ ...WORKFLOWS, item: name }}>
                  {name}
                </Link>,
                isRunning ? (
                  <Badge key="state" tone="accent">
                    running
                  </Badge>
                ) : (
                  <Badge key="state" tone={hasFailed ? 'bad' : 'good'}>
                    {hasFailed ? 'failed' : 'idle'}
                  </Badge>
                ),
                tasks.length,
                tasks
                  .filter(({ inputs }) => inputs.some(({ unread }) => unread > 0))
                  .map((task) => task.name)
                  .join(', '),
                <Instant key="applied" at={appliedAt} relative />,
              ],
            };
          })}
        />
      )}
    </section>
  );
}
