import type { GraphNode } from '../graph/types';
import { list, number, properties, text } from './read';

export interface Problem {
  /** The operator, file or part that it is about. */
  operator: string;
  reason: string;
  /** What it does to an answer: `refused`, `superset`, `missing` or `fault`. */
  kind: string;
}

/** What a run captured of what it should have captured. */
export interface Ledger {
  status: 'complete' | 'partial' | 'refused' | 'unknown';
  mode?: string | undefined;
  problems: Problem[];
  /** Association rows and bytes that were written. */
  rows?: number | undefined;
  bytes?: number | undefined;
}

export interface RunFacts {
  id: string;
  /** OpenLineage's: START, RUNNING, COMPLETE, FAIL, ABORT, OTHER. */
  state: string;
  started?: string | undefined;
  ended?: string | undefined;
  error?: string | undefined;
  ledger: Ledger;
}

export type Health = 'good' | 'partial' | 'failed' | 'running' | 'unknown';

const LEDGER_STATES = ['complete', 'partial', 'refused'] as const;

export function runFacts(node: Pick<GraphNode, 'id' | 'properties'>): RunFacts {
  const facts = properties(node.properties);
  return {
    id: node.id,
    state: text(facts.state) ?? 'OTHER',
    started: text(facts.startedAt),
    ended: text(facts.endedAt),
    error: text(facts.error),
    ledger: ledgerOf(properties(facts.capture)),
  };
}

function ledgerOf(facts: Record<string, unknown>): Ledger {
  return {
    status: LEDGER_STATES.find((state) => state === facts.status) ?? 'unknown',
    mode: text(facts.mode),
    problems: list(facts.problems).map((problem) => ({
      operator: text(problem.operator) ?? 'capture',
      reason: text(problem.reason) ?? 'no reason was given',
      kind: text(problem.kind) ?? 'missing',
    })),
    rows: number(properties(facts.cost).rows),
    bytes: number(properties(facts.cost).bytes),
  };
}

/** Runs, the latest first. */
export function byTime(runs: readonly RunFacts[]): RunFacts[] {
  return [...runs].sort((a, b) => (b.started ?? '').localeCompare(a.started ?? ''));
}

/** How a run stands, in one word: whether it succeeded, and whether its lineage is whole. */
export function healthOf(run: RunFacts | undefined): Health {
  if (!run) return 'unknown';
  if (run.state === 'FAIL' || run.state === 'ABORT') return 'failed';
  if (run.state !== 'COMPLETE') return 'running';
  return run.ledger.status === 'complete' ? 'good' : 'partial';
}
