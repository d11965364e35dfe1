import { type Ledger, type RunFacts, stateOf } from '../../facts/runs';
import { bytesText } from '../../facts/size';
import { ago, duration, instantText } from '../../facts/time';
import { HOME } from '../../location/location';
import { Badge } from '../Badge/Badge';
import { Link } from '../Link/Link';
import styles from './RunCard.module.css';

interface RunCardProps {
  run: RunFacts;
  /** Whether the run is on the path of the trace. */
  traced: boolean;
}

const CAPTURED: Record<string, string> = {
  complete: 'every record',
  partial: 'some records',
  refused: 'datasets and columns, no records',
  failed: 'datasets and columns of the intended output',
};

/** The state of a run, and its ledger: the captured lineage and the missing parts. */
export function RunCard({ run, traced }: RunCardProps) {
  const { tone, label } = stateOf(run);
  const took = run.started && run.ended ? duration(run.started, run.ended) : undefined;
  return (
    <article className={`${styles.run} ${traced ? styles.traced : ''}`}>
      <p className={styles.head}>
        <Badge tone={tone}>{label}</Badge>
        {traced && <Badge tone="accent">traced</Badge>}
        {run.started && (
          <small>
            <time dateTime={run.started} title={instantText(run.started)}>
              {ago(run.started)}
            </time>
            {took && `, took ${took}`}
          </small>
        )}
      </p>
      {run.error && <p className={styles.error}>{run.error}</p>}
      {run.ledger && <LedgerLines ledger={run.ledger} />}
      <p className={styles.id}>
        <Link to={{ ...HOME, page: 'run', item: run.id }}>{run.id.slice('run:'.length)}</Link>
      </p>
    </article>
  );
}

/** What was captured of a run, what is missing, and the cost. */
export function LedgerLines({ ledger: { status, problems, rows, bytes } }: { ledger: Ledger }) {
  const cost = [rows !== null && `${rows.toLocaleString('en')} associations`, bytes !== null && bytesText(bytes)];
  return (
    <dl className={styles.ledger}>
      <dt>Captured</dt>
      <dd>{CAPTURED[status] ?? 'datasets and columns, as far as reported'}</dd>
      <dt>Missing</dt>
      <dd>
        {problems.length === 0
          ? 'nothing that is known'
          : problems.map(({ operator, reason }) => (operator ? `${operator}: ${reason}` : reason)).join('; ')}
      </dd>
      {cost.some(Boolean) && (
        <>
          <dt>Cost</dt>
          <dd>{cost.filter(Boolean).join(', ')}</dd>
        </>
      )}
    </dl>
  );
}
