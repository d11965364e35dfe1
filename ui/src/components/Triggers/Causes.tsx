import type { CauseFactsFragment, ExecutionState } from '../../api/generated/graphql';
import { list, type Properties, text } from '../../facts/read';
import { duration } from '../../facts/time';
import { parseId } from '../../graph/ids';
import { jobTitleOf, titleOf } from '../../graph/names';
import { Badge, type Tone } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { Table } from '../Table/Table';

const TONE: Record<ExecutionState, Tone> = {
  WAITING: 'plain',
  RUNNING: 'accent',
  COMPLETE: 'good',
  FAILED: 'bad',
  INTERRUPTED: 'warn',
};

/** The causes of a trigger with their outcomes. */
export function Causes({ label, causes }: { label: string; causes: readonly CauseFactsFragment[] }) {
  return (
    <Table
      label={label}
      titles={['When', 'Cause', 'Outcome', 'Result', 'Time']}
      rows={causes.map(({ id, at, outcome, reason, facts, execution }) => ({
        key: id,
        cells: [
          <Instant key="at" at={at} />,
          list(facts).map(factText).join(', '),
          execution ? (
            <Badge key="state" tone={TONE[execution.state]}>
              {execution.state.toLowerCase()}
            </Badge>
          ) : (
            outcome.toLowerCase()
          ),
          execution?.error ?? execution?.result ?? reason,
          execution?.startedAt && execution.endedAt && duration(execution.startedAt, execution.endedAt),
        ],
      }))}
    />
  );
}

function factText(fact: Properties): string {
  const kind = text(fact.kind) ?? 'cause';
  const subject = text(fact.subject) ?? '';
  const of = parseId(subject).kind;
  if (of === 'dataset') return `${kind} of ${titleOf(subject)}`;
  return of === 'job' || of === 'pipeline' ? `${kind} of ${jobTitleOf(subject)}` : kind;
}
