import { useQuery } from '@tanstack/react-query';
import { RunDocument, type RunQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { fullName } from '../../facts/datasets';
import { parametersOf, settingsOf } from '../../facts/parameters';
import { properties } from '../../facts/read';
import { hasFailed, runFacts, stateOf } from '../../facts/runs';
import { duration, instantText } from '../../facts/time';
import { jobTitle, titleOf } from '../../graph/names';
import { HOME } from '../../location/location';
import type { PageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { Breadcrumb } from '../Breadcrumb/Breadcrumb';
import { CodeSection } from '../CodeSection/CodeSection';
import { ComparePanel } from '../ComparePanel/ComparePanel';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { LedgerLines } from '../RunCard/RunCard';
import { Skeleton } from '../Skeleton/Skeleton';
import { SuspectPanel } from '../SuspectPanel/SuspectPanel';
import { Table } from '../Table/Table';
import { Timeline } from '../Timeline/Timeline';
import { WhyPanel } from '../WhyPanel/WhyPanel';
import own from './RunPage.module.css';
import { spansOf } from './spans';

type Run = NonNullable<RunQuery['node']>;

/** A run: its state, the reason of a failure, the time of its stages and tasks, its parameters, and what it read and wrote. */
export function RunPage({ location: { item = '' } }: PageProps) {
  const { data, error, isPending, refetch } = useQuery(queryOf(RunDocument, { id: item }));
  const node = data?.node;
  const job = node?.containers.find(({ kind }) => kind === 'JOB');
  const name = jobTitle(job?.name ?? 'Run');
  return (
    <div className={styles.page}>
      <Breadcrumb
        steps={[
          { label: 'Datasets', to: HOME },
          ...(job ? [{ label: name, to: { ...HOME, page: 'job', item: job.id } }] : []),
          { label: 'Run' },
        ]}
      />
      <h1 className={styles.title}>{job ? `A run of ${name}` : 'Run'}</h1>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the run" rows={6} />}
      {data && !node && <Note title="There is no such run.">It may have been removed.</Note>}
      {node && data && <Details node={node} edges={data.lineage.edges} />}
    </div>
  );
}

function Details({ node, edges }: { node: Run; edges: RunQuery['lineage']['edges'] }) {
  const facts = properties(node.properties);
  const run = runFacts(node);
  const { tone, label } = stateOf(run);
  const { error, sql } = node.facts;
  const container = node.containers.find(({ kind }) => kind === 'JOB');
  const [job, jobId] = [container?.facts, container?.id];
  const spans = spansOf(node.children.nodes);
  return (
    <>
      <p className={styles.facts}>
        <Badge tone={tone}>{label}</Badge>
        {run.started && (
          <span title={instantText(run.started)}>
            started <Instant at={run.started} />
          </span>
        )}
        {run.started && run.ended && <span>took {duration(run.started, run.ended)}</span>}
        <code>{node.id.slice('run:'.length)}</code>
      </p>
      {error && (
        <Note tone="bad" title={error.message}>
          {error.stackTrace && (
            <details open>
              <summary>Stack trace</summary>
              <pre className={own.stack}>{error.stackTrace}</pre>
            </details>
          )}
          {error.cut && <p>The producer stated more. This is the beginning.</p>}
        </Note>
      )}
      {hasFailed(run) && (
        <section className={styles.section} aria-label="Why the run failed">
          <WhyPanel run={node.id} />
        </section>
      )}
      {facts.state === 'COMPLETE' && (
        <section className={styles.section} aria-label="Unusual values">
          <SuspectPanel name={node.id} />
        </section>
      )}
      {facts.state === 'COMPLETE' && jobId && (
        <section className={styles.section} aria-label="What changed?">
          <ComparePanel run={node.id} job={jobId} />
        </section>
      )}
      <section className={styles.section} aria-labelledby="flows">
        <h2 id="flows">Reads and writes</h2>
        <Flows
          title="Read"
          ids={[...edges.filter(({ kind }) => kind === 'READS').map(({ src }) => src), ...inputsOf(facts)]}
        />
        <Flows
          title={hasFailed(run) ? 'Was to write' : 'Wrote'}
          ids={edges.filter(({ kind }) => kind === 'WRITES').map(({ dst }) => dst)}
        />
      </section>
      {spans.length > 0 && (
        <section className={styles.section} aria-labelledby="timeline">
          <h2 id="timeline">Stages and tasks</h2>
          <p className={styles.lead}>A slow task takes more than three times as long as the middle one of its stage.</p>
          <Timeline label="Stages and tasks over time" spans={spans} />
        </section>
      )}
      {run.ledger && run.ledger.status !== 'unknown' && (
        <section className={styles.section} aria-labelledby="ledger">
          <h2 id="ledger">Record lineage</h2>
          <LedgerLines ledger={run.ledger} />
        </section>
      )}
      <Parameters title="Parameters" rows={parametersOf(facts)} />
      <CodeSection sql={job?.sql ?? sql} source={job?.source} place={job?.sourcePlace} />
      <Parameters title="Settings and environment" rows={settingsOf(facts)} />
    </>
  );
}

function Flows({ title, ids }: { title: string; ids: readonly string[] }) {
  const datasets = [...new Set(ids.flatMap(datasetOf))].sort();
  return (
    <p className={own.flows}>
      <span>{title}</span>
      {datasets.length === 0 && 'nothing that is known'}
      {datasets.map((id) => (
        <Link key={id} to={{ ...HOME, dataset: id }} title={fullName(id)}>
          {titleOf(id)}
        </Link>
      ))}
    </p>
  );
}

/** A run also reads and writes versions and files. They belong to its datasets. */
function datasetOf(id: string): string[] {
  const [kind, ...parts] = id.split(':');
  if (kind === 'version') return [['dataset', ...parts.slice(0, 2)].join(':')];
  return kind === 'dataset' ? [id] : [];
}

/** The datasets whose facets the run stated as those of inputs. */
function inputsOf(facts: Record<string, unknown>): string[] {
  return Object.keys(facts).flatMap((key) => (key.startsWith('input:') ? [key.slice('input:'.length)] : []));
}

function Parameters({ title, rows }: { title: string; rows: readonly { name: string; value: string }[] }) {
  if (rows.length === 0) return null;
  return (
    <section className={styles.section} aria-label={title}>
      <h2>{title}</h2>
      <Table
        label={title}
        titles={['Name', 'Value']}
        rows={rows.map(({ name, value }, index) => ({ key: `${index} ${name}`, cells: [name, value] }))}
      />
    </section>
  );
}
