/** Runs that failed while the page was open. */

export interface Failure {
  /** Id of the run. */
  run: string;
  /** Name of its job. */
  job: string;
}

let failures: readonly Failure[] = [];
const seen = new Set<string>();
const listeners = new Set<() => void>();

/** Add failures, the latest first. A run that fails is reported again when it says more, and counts once. */
export function addFailures(found: readonly Failure[]): void {
  const fresh = found.filter(({ run }) => !seen.has(run));
  if (fresh.length === 0) return;
  for (const { run } of fresh) seen.add(run);
  failures = [...fresh.toReversed(), ...failures];
  announce();
}

/** The reader knows of all failures. */
export function clearFailures(): void {
  failures = [];
  announce();
}

export function currentFailures(): readonly Failure[] {
  return failures;
}

export function followFailures(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function announce(): void {
  for (const listener of listeners) listener();
}
