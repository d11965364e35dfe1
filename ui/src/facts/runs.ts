import type { LedgerFragment } from '../api/generated/graphql';
import type { GraphNode } from '../graph/types';
import { properties, text } from './read';

export type Ledger = NonNullable<LedgerFragment['ledger']>;

export interface RunFacts {
  id: string;
  /** A state of OpenLineage: START, RUNNING, COMPLETE, FAIL, ABORT, OTHER. */
  state: string;
  started: string | undefined;
  ended: string | undefined;
  error: string | undefined;
  ledger: Ledger | undefined;
}

const STATES: Record<string, ReturnType<typeof stateOf>> = {
  COMPLETE: { tone: 'good', label: 'complete' },
  FAIL: { tone: 'bad', label: 'failed' },
  ABORT: { tone: 'bad', label: 'aborted' },
  START: { tone: 'accent', label: 'started' },
  RUNNING: { tone: 'accent', label: 'running' },
};

export type Health = 'good' | 'reported' | 'partial' | 'failed' | 'running' | 'unknown';

/** The state of a node in a drawing: that of its last run, or that its data is older than that of a failed run. */
export type NodeState = Health | 'stale';

/** The words of states that a card names. */
export const STATE_WORDS: Partial<Record<NodeState, string>> = { failed: 'failed', running: 'running', stale: 'stale' };

/** What a card says about the last run, if it is not usual: `failed`, `2 unusual`. */
export function stateWordsOf(fact: { state: NodeState; unusual?: number } | undefined): string[] {
  if (!fact) return [];
  const unusual = fact.unusual ? `${fact.unusual} unusual` : undefined;
  return [STATE_WORDS[fact.state], unusual].filter((word) => word !== undefined);
}

export function runFacts({ id, properties: own, ledger }: Pick<GraphNode, 'id' | 'properties' | 'ledger'>): RunFacts {
  const facts = properties(own);
  return {
    id,
    state: text(facts.state) ?? 'OTHER',
    started: text(facts.startedAt),
    ended: text(facts.endedAt),
    error: text(facts.error),
    ledger: ledger ?? undefined,
  };
}

/** Sort runs, the latest first. */
export function byTime(runs: readonly RunFacts[]): RunFacts[] {
  return runs.toSorted((a, b) => (b.started ?? '').localeCompare(a.started ?? ''));
}

/**
 * The result of a run in one word. A successful run is `good` if the lineage of its records is complete, and `partial` if Headwater captured
 * less. A run that another tool reported is `reported`: its lineage by dataset is all that the tool has.
 */
export function healthOf(run: RunFacts | undefined): Health {
  if (!run) return 'unknown';
  if (hasFailed(run)) return 'failed';
  if (run.state !== 'COMPLETE') return 'running';
  if (!run.ledger || run.ledger.status === 'unknown') return 'reported';
  return run.ledger.status === 'complete' ? 'good' : 'partial';
}

/** The state of a run in words. */
export function stateOf({ state }: Pick<RunFacts, 'state'>): {
  tone: 'good' | 'bad' | 'accent' | 'plain';
  label: string;
} {
  return STATES[state] ?? { tone: 'plain', label: 'state not known' };
}

export function hasFailed({ state }: Pick<RunFacts, 'state'>): boolean {
  return state === 'FAIL' || state === 'ABORT';
}
