import { byTime, runFacts } from '../../facts/runs';
import type { GraphNode, PathHop } from '../../graph/types';
import { useNode } from '../../hooks/useNode';
import { useOperations } from '../../hooks/useOperations';
import { ErrorNote } from '../Note/Note';
import { Operation } from '../Operation/Operation';
import { PanelSection } from '../PanelSection/PanelSection';
import { RunCard } from '../RunCard/RunCard';
import styles from './JobDetails.module.css';

interface JobDetailsProps {
  job: GraphNode;
  /** The run of the trace, where it went through this job. */
  hop?: PathHop | undefined;
}

const SHOWN = 10;

/** Operations, and the runs with what each captured. */
export function JobDetails({ job, hop }: JobDetailsProps) {
  const { data, error, isPending } = useNode(job.id, 'RUN');
  const runs = byTime((data?.children.nodes ?? []).map(runFacts));
  const latest = hop?.run ?? runs[0]?.id;
  const planned = useOperations(latest && !hop ? [latest] : []);
  const operations = [...(hop?.operations ?? planned.get(latest ?? '') ?? [])].reverse();
  return (
    <>
      <PanelSection title={hop ? 'Operations of the traced run' : 'Operations of the last run'}>
        {operations.length === 0 && (
          <p className={styles.hint}>No operations are known: the records of this run were not captured.</p>
        )}
        <ol className={styles.operations}>
          {operations.map((operation, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same operation may stand twice in a plan
            <li key={index}>
              <Operation text={operation} whole />
            </li>
          ))}
        </ol>
      </PanelSection>
      <PanelSection title={data && data.children.total > SHOWN ? `Latest of ${data.children.total} runs` : 'Runs'}>
        {error && <ErrorNote error={error} />}
        {isPending && <p className={styles.hint}>Loading …</p>}
        {runs.slice(0, SHOWN).map((run) => (
          <RunCard key={run.id} run={run} traced={run.id === hop?.run} />
        ))}
      </PanelSection>
    </>
  );
}
