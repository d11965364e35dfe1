import { useQuery } from '@tanstack/react-query';
import type { SuspectsQuery } from '../../api/generated/first/graphql';
import { suspectsOf } from '../../hooks/useSuspects';
import { Badge } from '../Badge/Badge';
import { Table } from '../Table/Table';

type Suspect = SuspectsQuery['suspects'][number]['suspects'][number];

interface SuspectPanelProps {
  /** Id of a complete run, or of a job for its last complete run. */
  name: string;
}

/** What is unusual about a run, compared with the earlier runs of its job and among its tasks. */
export function SuspectPanel({ name }: SuspectPanelProps) {
  const { data, error } = useQuery(suspectsOf(name));
  const report = data?.suspects.find(({ run, job }) => run === name || job === name);
  if (error) return error.message.includes('no complete run') ? null : <p>{`Unusual values: ${error.message}`}</p>;
  if (!report || (report.compared === 0 && report.suspects.length === 0)) return null;
  const { suspects, runs } = report;
  if (suspects.length === 0)
    return <p>{`Nothing is unusual about this run, compared with ${runs.toLocaleString('en')} earlier runs.`}</p>;
  return (
    <>
      <p>
        <Badge tone="warn" icon="warn">
          {suspects.length === 1 ? 'unusual' : `${suspects.length} unusual values`}
        </Badge>{' '}
        {`compared with ${runs.toLocaleString('en')} earlier runs. This names a place to look, and proves no cause.`}
      </p>
      <Table
        label="Unusual values, the least likely first"
        titles={['What', 'Value', 'Expected', 'Change', 'Chance']}
        rows={suspects.map((suspect) => ({
          key: `${suspect.subject} ${suspect.metric}`,
          cells: [
            suspect.subject.startsWith('task:')
              ? `${suspect.metric} (${suspect.subject.slice('task:'.length)})`
              : suspect.metric,
            shortNumber(suspect.value),
            shortNumber(suspect.expected),
            changeText(suspect),
            suspect.chance === null ? 'far outside' : suspect.chance.toPrecision(1),
          ],
        }))}
      />
    </>
  );
}

function shortNumber(value: number): string {
  return value.toLocaleString(
    'en',
    Math.abs(value) < 1000 ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 0 },
  );
}

function changeText({ value, expected }: Suspect): string {
  if (expected === 0) return 'new';
  const percent = Math.round(100 * (value / expected - 1));
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent).toLocaleString('en')} %`;
}
