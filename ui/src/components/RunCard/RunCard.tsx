import type { Ledger, RunFacts } from '../../facts/runs';
import { bytesText } from '../../facts/size';
import { ago, duration, instantText } from '../../facts/time';
import { Badge, type Tone } from '../Badge/Badge';
import styles from './RunCard.module.css';

interface RunCardProps {
  run: RunFacts;
  /** Whether the trace went through this run. */
  traced: boolean;
}

const STATE: Record<string, { tone: Tone; label: string }> = {
  COMPLETE: { tone: 'good', label: 'complete' },
  FAIL: { tone: 'bad', label: 'failed' },
  ABORT: { tone: 'bad', label: 'aborted' },
  START: { tone: 'accent', label: 'started' },
  RUNNING: { tone: 'accent', label: 'running' },
};

const CAPTURED: Record<Ledger['status'], string> = {
  complete: 'every record',
  partial: 'only in part',
  refused: 'datasets and columns, no records',
  failed: 'datasets and columns that it was to write',
  unknown: 'datasets and columns, as far as stated',
};

/** A run: how it went, and its ledger, which says what was captured and what is missing. */
export function RunCard({ run, traced }: RunCardProps) {
  const { tone, label } = STATE[run.state] ?? { tone: 'plain', label: 'state not known' };
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
      <LedgerLines ledger={run.ledger} />
      <p className={styles.id}>{run.id.slice('run:'.length)}</p>
    </article>
  );
}

function LedgerLines({ ledger }: { ledger: Ledger }) {
  const cost = [
    ledger.rows !== undefined && `${ledger.rows.toLocaleString('en')} associations`,
    ledger.bytes !== undefined && bytesText(ledger.bytes),
  ];
  return (
    <dl className={styles.ledger}>
      <dt>Captured</dt>
      <dd>{CAPTURED[ledger.status]}</dd>
      <dt>Missing</dt>
      <dd>
        {ledger.problems.length === 0
          ? 'nothing that is known'
          : ledger.problems.map((problem) => `${problem.operator}: ${problem.reason}`).join('; ')}
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
