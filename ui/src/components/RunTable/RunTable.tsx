import { hasFailed, type RunFacts, stateOf } from '../../facts/runs';
import { duration } from '../../facts/time';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { Table } from '../Table/Table';

/** Runs, the latest first, each with a link to its page. */
export function RunTable({ runs, isCut }: { runs: readonly RunFacts[]; isCut: boolean }) {
  if (runs.length === 0) return <p className={styles.lead}>No run is known.</p>;
  return (
    <>
      <Table
        label="Runs, the latest first"
        titles={['Started', 'State', 'Time', 'Record lineage', 'Error']}
        rows={runs.map((run) => ({ key: run.id, cells: cellsOf(run) }))}
      />
      {isCut && <p className={styles.lead}>These are the latest {runs.length} runs.</p>}
    </>
  );
}

function cellsOf(run: RunFacts) {
  const { tone, label } = stateOf(run);
  return [
    <Link key="started" to={{ ...HOME, page: 'run', item: run.id }}>
      {run.started ? <Instant at={run.started} /> : run.id.slice('run:'.length)}
    </Link>,
    <Badge key="state" tone={tone}>
      {label}
    </Badge>,
    run.started && run.ended ? duration(run.started, run.ended) : '',
    CAPTURED[run.ledger?.status ?? ''] ?? 'by dataset',
    hasFailed(run) ? (run.error ?? 'no reason given') : '',
  ];
}

const CAPTURED: Record<string, string> = { complete: 'complete', partial: 'in part' };
