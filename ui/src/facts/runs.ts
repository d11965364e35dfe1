import type { GraphNode } from '../graph/types';
import { list, number, type Properties, properties, text } from './read';

export interface Problem {
  /** The operator, file or part that it is about. */
  operator: string;
  reason: string;
  /** What it does to an answer: `refused`, `superset`, `missing`, `influence` (missing from influences alone) or `fault`. */
  kind: string;
}

/** What a run captured of what it should have captured. */
export interface Ledger {
  status: 'complete' | 'partial' | 'refused' | 'failed' | 'unknown';
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

const LATE: Problem = { operator: 'delivery', reason: 'its associations have not arrived here', kind: 'missing' };
const FAILED: Problem = {
  operator: 'the run',
  reason: 'it did not succeed, so what it was to write is not there, nor is its lineage',
  kind: 'missing',
};
const LEDGER_STATES = ['complete', 'partial', 'refused'] as const;

export function runFacts(node: Pick<GraphNode, 'id' | 'properties'>): RunFacts {
  const facts = properties(node.properties);
  const state = text(facts.state) ?? 'OTHER';
  const ledger = ledgerOf(properties(facts.headwater_capture), properties(facts.capture), list(facts.leftOut));
  return {
    id: node.id,
    state,
    started: text(facts.startedAt),
    ended: text(facts.endedAt),
    error: text(facts.error),
    // An application counts what it lost while it captured; of a run that failed, that is nothing.
    ledger: hasFailed({ state }) ? { ...ledger, status: 'failed', problems: [FAILED, ...ledger.problems] } : ledger,
  };
}

/**
 * A run's capture as the application announced it in a facet of its event, and as it arrived. What was announced and is not here is
 * missing, however complete the application thought it. What the service left out of the run's events is missing, too.
 */
function ledgerOf(announced: Properties, arrived: Properties, leftOut: Properties[]): Ledger {
  const facts = { ...announced, ...arrived };
  const late = announced.capture !== undefined && arrived.capture === undefined;
  const problems = [...list(facts.problems), ...leftOut].map((problem) => ({
    operator: text(problem.operator) ?? 'capture',
    reason: text(problem.reason) ?? 'no reason was given',
    kind: text(problem.kind) ?? 'missing',
  }));
  const cost = properties(facts.cost);
  return {
    status: late ? 'partial' : (LEDGER_STATES.find((state) => state === facts.status) ?? 'unknown'),
    mode: text(facts.mode),
    problems: late ? [...problems, LATE] : problems,
    rows: number(cost.rows),
    bytes: number(cost.bytes),
  };
}

/** Runs, the latest first. */
export function byTime(runs: readonly RunFacts[]): RunFacts[] {
  return [...runs].sort((a, b) => (b.started ?? '').localeCompare(a.started ?? ''));
}

/** How a run stands, in one word: whether it succeeded, and whether its lineage is whole. */
export function healthOf(run: RunFacts | undefined): Health {
  if (!run) return 'unknown';
  if (hasFailed(run)) return 'failed';
  if (run.state !== 'COMPLETE') return 'running';
  return run.ledger.status === 'complete' ? 'good' : 'partial';
}

/** Whether a run ended without success. */
export function hasFailed({ state }: Pick<RunFacts, 'state'>): boolean {
  return state === 'FAIL' || state === 'ABORT';
}
