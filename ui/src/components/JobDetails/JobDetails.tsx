import { byTime, runFacts } from '../../facts/runs';
import type { PathHop } from '../../graph/types';
import { useChildren, useOperations } from '../../hooks/useLineage';
import { HOME } from '../../location/location';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { Operation } from '../Operation/Operation';
import { PanelSection } from '../PanelSection/PanelSection';
import { RunCard } from '../RunCard/RunCard';
import styles from './JobDetails.module.css';

interface JobDetailsProps {
  /** Id of the job. */
  job: string;
  /** The run on the path of the trace, if the path includes this job. */
  hop?: PathHop | undefined;
}

const SHOWN = 10;

export function JobDetails({ job, hop }: JobDetailsProps) {
  const { data, error, isPending } = useChildren(job, 'RUN');
  const runs = byTime((data?.children.nodes ?? []).map(runFacts));
  const latest = hop?.run ?? runs[0]?.id;
  const plans = useOperations(latest && !hop ? [latest] : []);
  const operations = (hop?.operations ?? plans.get(latest ?? '') ?? []).toReversed();
  return (
    <>
      <PanelSection title={hop ? 'Operations of the traced run' : 'Operations of the last run'}>
        {operations.length === 0 && (
          <p className={styles.hint}>
            No operations are known, because Headwater did not capture the records of this run.
          </p>
        )}
        <ol className={styles.operations}>
          {operations.map((operation, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a plan can contain the same operation twice
            <li key={index}>
              <Operation operation={operation} whole />
            </li>
          ))}
        </ol>
      </PanelSection>
      <PanelSection title={data && data.children.total > SHOWN ? `Latest of ${data.children.total} runs` : 'Runs'}>
        {error && <ErrorNote error={error} />}
        {isPending && <p className={styles.hint}>Loading …</p>}
        <p>
          <Link to={{ ...HOME, page: 'job', item: job }}>Open the job</Link>
        </p>
        {runs.slice(0, SHOWN).map((run) => (
          <RunCard key={run.id} run={run} traced={run.id === hop?.run} />
        ))}
      </PanelSection>
    </>
  );
}
