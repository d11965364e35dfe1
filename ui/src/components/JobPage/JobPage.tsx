import { useQuery } from '@tanstack/react-query';
import { JobDocument, type JobQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { fullName } from '../../facts/datasets';
import { byTime, runFacts } from '../../facts/runs';
import { parseId } from '../../graph/ids';
import { jobTitle, titleOf } from '../../graph/names';
import { HOME } from '../../location/location';
import type { PageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { ActionLine } from '../ActionLine/ActionLine';
import { Badge } from '../Badge/Badge';
import { Breadcrumb } from '../Breadcrumb/Breadcrumb';
import { CodeSection } from '../CodeSection/CodeSection';
import { Authors } from '../DescriptionEditor/Authors';
import { DescriptionEditor } from '../DescriptionEditor/DescriptionEditor';
import { Descriptions } from '../Descriptions/Descriptions';
import { Durations } from '../Durations/Durations';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { NotifyRules } from '../NotifyRules/NotifyRules';
import { RunTable } from '../RunTable/RunTable';
import { Skeleton } from '../Skeleton/Skeleton';

const FIRST = 60;

type Edge = JobQuery['lineage']['edges'][number];

/** A job: its runs over time, what it reads and writes, and its code. */
export function JobPage({ location: { item = '' } }: PageProps) {
  const { data, error, isPending, refetch } = useQuery(queryOf(JobDocument, { id: item, first: FIRST }));
  const [namespace] = parseId(item).parts;
  const name = data?.node?.name ?? parseId(item).parts.at(-1) ?? item;
  return (
    <div className={styles.page}>
      <Breadcrumb steps={[{ label: 'Datasets', to: HOME }, { label: jobTitle(name) }]} />
      <h1 className={styles.title}>{jobTitle(name)}</h1>
      <p className={styles.facts}>
        <span>job</span>
        <Badge title="Namespace: the system that runs the job">{namespace}</Badge>
        {jobTitle(name) !== name && <span>{name}</span>}
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the job" rows={6} />}
      {data && !data.node && <Note title="There is no such job.">No known run belongs to it.</Note>}
      {data?.node && <Job node={data.node} runs={data.runs.nodes} edges={data.lineage.edges} />}
    </div>
  );
}

interface JobProps {
  node: NonNullable<JobQuery['node']>;
  runs: JobQuery['runs']['nodes'];
  edges: readonly Edge[];
}

function Job({ node, runs, edges }: JobProps) {
  const { sql, source, sourcePlace } = node.facts;
  const sorted = byTime(runs.map(runFacts));
  return (
    <>
      <Descriptions descriptions={node.descriptions} />
      <ActionLine>
        <DescriptionEditor
          node={node.id}
          name={jobTitle(node.name)}
          descriptions={node.descriptions}
          stale={[JobDocument]}
        />
        <NotifyRules subject={{ job: node.id }} name={jobTitle(node.name)} />
      </ActionLine>
      <Authors statements={node.descriptions.statements} />
      <section className={styles.section} aria-labelledby="runs">
        <h2 id="runs">Runs</h2>
        <Durations runs={sorted} />
        <RunTable runs={sorted} isCut={runs.length === FIRST} />
      </section>
      <section className={styles.section} aria-labelledby="flows">
        <h2 id="flows">Reads and writes</h2>
        <Flows title="Reads" edges={edges.filter(({ kind }) => kind === 'READS')} end="src" />
        <Flows title="Writes" edges={edges.filter(({ kind }) => kind === 'WRITES')} end="dst" />
      </section>
      <CodeSection sql={sql} source={source} place={sourcePlace} />
    </>
  );
}

/** Datasets that the job reads or writes, those of its present runs first. */
function Flows({ title, edges, end }: { title: string; edges: readonly Edge[]; end: 'src' | 'dst' }) {
  const sorted = edges.toSorted((a, b) => Number(a.former) - Number(b.former) || a[end].localeCompare(b[end]));
  return (
    <>
      <h3>{title}</h3>
      {edges.length === 0 && <p className={styles.lead}>No known run {title.toLowerCase()} a dataset.</p>}
      <ul>
        {sorted.map((edge) => (
          <li key={edge[end]}>
            <Link to={{ ...HOME, dataset: edge[end] }} title={fullName(edge[end])}>
              {titleOf(edge[end])}
            </Link>{' '}
            {edge.former && <Badge title="A later run of the job did not state this dataset.">former</Badge>}
          </li>
        ))}
      </ul>
    </>
  );
}
