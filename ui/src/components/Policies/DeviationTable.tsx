import {
  AcceptDeviationDocument,
  type DeviationFactsFragment,
  PoliciesDocument,
  type Severity,
} from '../../api/generated/graphql';
import { readForm } from '../../facts/forms';
import { useChange } from '../../hooks/useChange';
import styles from '../../styles/sections.module.css';
import { Badge, type Tone } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { NodeLink } from '../NodeLink/NodeLink';
import { ErrorNote } from '../Note/Note';
import { Table } from '../Table/Table';

const TONE: Record<Severity, Tone> = { ERROR: 'bad', WARNING: 'warn', INFO: 'plain' };
const DAYS = 90;

interface DeviationTableProps {
  deviations: readonly DeviationFactsFragment[];
  /** Whether the session can accept them. */
  mayAccept?: boolean;
}

/** Deviations from policies, each with its path. */
export function DeviationTable({ deviations, mayAccept = false }: DeviationTableProps) {
  const accept = useChange(AcceptDeviationDocument, { stale: [PoliciesDocument] });
  if (deviations.length === 0) return <p className={styles.lead}>There are none.</p>;
  return (
    <>
      <Table
        label="Deviations, the latest first"
        titles={['Rule', 'Severity', 'Path', 'Since', 'Owner', 'State']}
        rows={deviations.map((deviation) => ({
          key: deviation.id,
          cells: [
            <span key="rule" title={deviation.message}>
              {deviation.rule}
            </span>,
            <Badge key="severity" tone={TONE[deviation.severity]}>
              {deviation.severity.toLowerCase()}
            </Badge>,
            <Path key="path" deviation={deviation} />,
            (deviation.since ?? deviation.opened) && (
              <Instant key="since" at={deviation.since ?? deviation.opened ?? ''} relative />
            ),
            deviation.owner,
            mayAccept ? (
              <form
                key="state"
                className={styles.inline}
                aria-label={`Accept: ${deviation.message}`}
                onSubmit={(event) =>
                  accept.mutate({ id: deviation.id, reason: readForm(event)('reason') ?? '', days: DAYS })
                }
              >
                <input name="reason" required maxLength={500} placeholder="Reason" aria-label="Reason to accept it" />
                <button type="submit" disabled={accept.isPending}>
                  Accept for {DAYS} days
                </button>
              </form>
            ) : (
              stateOf(deviation)
            ),
          ],
        }))}
      />
      {accept.error && <ErrorNote error={accept.error} />}
    </>
  );
}

function Path({ deviation: { path, target, message, certain } }: { deviation: DeviationFactsFragment }) {
  const nodes = path.length > 0 ? path : [target];
  return (
    <>
      {nodes.map((id, index) => (
        <span key={id}>
          {index > 0 && ' → '}
          <NodeLink id={id} />
        </span>
      ))}
      {path.length === 0 && `: ${message}`}
      {!certain && ' (perhaps: a job does not state its columns)'}
    </>
  );
}

function stateOf({ state, reason, acceptedBy, acceptedUntil }: DeviationFactsFragment): string {
  if (state !== 'ACCEPTED') return state?.toLowerCase() ?? '';
  return [`accepted by ${acceptedBy} until ${acceptedUntil?.slice(0, 10)}`, reason].filter(Boolean).join(': ');
}
