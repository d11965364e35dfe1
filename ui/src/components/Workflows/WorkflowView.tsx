import { useQuery } from '@tanstack/react-query';
import {
  RunWorkflowDocument,
  WorkflowDocument,
  type WorkflowRunState,
  WorkflowsDocument,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { duration } from '../../facts/time';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { Badge, type Tone } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

const SHOWN = 50;
const RUNNING_MS = 2000;
const IDLE_MS = 30_000;
const TONE: Record<WorkflowRunState, Tone> = {
  RUNNING: 'accent',
  COMMITTED: 'accent',
  COMPLETE: 'good',
  FAILED: 'bad',
};

/** One workflow: its tasks with their cursors, its channels, and the last runs. */
export function WorkflowView({ name }: { name: string }) {
  const { data, error, isPending, refetch } = useQuery({
    ...queryOf(WorkflowDocument, { name, first: SHOWN }),
    refetchInterval: (query) => (query.state.data?.workflow?.isRunning ? RUNNING_MS : IDLE_MS),
  });
  if (isPending) return <Skeleton label="Loading the workflow" rows={4} />;
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (!data.workflow) return <Note title="There is no such workflow." />;
  const { appliedAt, isRunning, problem, tasks, channels, runs } = data.workflow;
  return (
    <>
      <p className={styles.facts}>
        <Badge tone={isRunning ? 'accent' : 'plain'}>{isRunning ? 'running' : 'idle'}</Badge>
        <span>
          applied <Instant at={appliedAt} relative />
        </span>
      </p>
      {problem && <Note tone="bad" title={problem} />}
      <RunButton name={name} isRunning={isRunning} />
      <section className={styles.section} aria-labelledby="tasks">
        <h2 id="tasks">Tasks</h2>
        <Table
          label="Tasks in the order in which they run"
          titles={['Task', 'Program', 'Last run', 'Reads', 'Writes', 'Error']}
          rows={tasks.map((task) => ({
            key: task.name,
            cells: [
              task.name,
              task.program,
              task.state ? <State key="state" state={task.state} /> : 'never',
              task.inputs
                .map(({ channel, mode, cursor, unread }) => {
                  const read = cursor === null ? 'nothing read' : `read to block ${cursor}`;
                  return `${channel} (${mode.toLowerCase()}): ${read}, ${unread} unread`;
                })
                .join('; '),
              task.outputs
                .map(({ channel, mode, lastBlock }) => `${channel} (${mode.toLowerCase()}): ${lastBlock ?? 'no block'}`)
                .join('; '),
              task.error,
            ],
          }))}
        />
      </section>
      <section className={styles.section} aria-labelledby="channels">
        <h2 id="channels">Channels</h2>
        <Table
          label="Channels"
          titles={['Channel', 'Folder', 'Written by', 'Blocks of the current version', 'Last block']}
          rows={channels.map((channel) => ({
            key: channel.name,
            cells: [
              channel.name,
              <Link key="path" to={{ ...HOME, dataset: channel.dataset }}>
                {channel.path}
              </Link>,
              channel.writer ?? 'files that arrive',
              channel.currentBlocks,
              channel.lastBlock ?? 'none',
            ],
          }))}
        />
      </section>
      <section className={styles.section} aria-labelledby="runs">
        <h2 id="runs">Runs</h2>
        {runs.length === 0 && <p className={styles.lead}>No task has run yet.</p>}
        {runs.length > 0 && (
          <Table
            label="Runs, the latest first"
            titles={['When', 'Task', 'Outcome', 'Time', 'Error']}
            rows={runs.map(({ id, task, state, startedAt, endedAt, error: reason }) => ({
              key: id,
              cells: [
                <Instant key="at" at={startedAt} />,
                task,
                <State key="state" state={state} />,
                endedAt && duration(startedAt, endedAt),
                reason,
              ],
            }))}
          />
        )}
      </section>
    </>
  );
}

function State({ state }: { state: WorkflowRunState }) {
  return <Badge tone={TONE[state]}>{state.toLowerCase()}</Badge>;
}

function RunButton({ name, isRunning }: { name: string; isRunning: boolean }) {
  const { scopes } = useSession();
  const run = useChange(RunWorkflowDocument, { stale: [WorkflowsDocument, WorkflowDocument] });
  if (!scopes.includes('replay')) return null;
  return (
    <>
      <div className={styles.actions}>
        <button type="button" disabled={isRunning || run.isPending} onClick={() => run.mutate({ name })}>
          Run
        </button>
      </div>
      {run.error && <ErrorNote error={run.error} />}
    </>
  );
}
