/** Notification rules: triggers that only notify, about one dataset or one job. */
import { properties, text } from './read';

export interface RuleKind {
  name: string;
  label: string;
  /** Whether the rule needs a number of hours. */
  hasHours?: true;
}

/** A dataset or a job that rules are about. */
export type Subject = { dataset: string } | { job: string };

const OF_DATASET: readonly RuleKind[] = [
  { name: 'version', label: 'it has a new version' },
  { name: 'stale', label: 'it has had no new version for some hours', hasHours: true },
  { name: 'check', label: 'a quality check fails' },
];
const OF_JOB: readonly RuleKind[] = [
  { name: 'failed', label: 'a run fails' },
  { name: 'completed', label: 'a run completes' },
];

export function kindsOf(subject: Subject): readonly RuleKind[] {
  return 'dataset' in subject ? OF_DATASET : OF_JOB;
}

interface Choice {
  kind: string;
  hours: string;
  target: string;
  /** Makes the name unique. */
  suffix: string;
}

/** The definition of a trigger for a rule. */
export function definitionOf(subject: Subject, { kind, hours, target, suffix }: Choice): Record<string, unknown> {
  return {
    name: `notify-${kind}-${suffix}`,
    when: conditionOf(subject, kind, hours),
    do: { notify: { target } },
  };
}

function conditionOf(subject: Subject, kind: string, hours: string): Record<string, unknown> {
  if ('job' in subject) return { cascade: { job: subject.job, state: kind } };
  const { dataset } = subject;
  if (kind === 'stale') return { stale: { dataset, after: `${hours}h` } };
  return { data: kind === 'check' ? { dataset, failed_check: true } : { dataset } };
}

/** Whether a trigger is a notification rule about a subject. */
export function isRuleOf(subject: Subject, definition: unknown): boolean {
  const { when, do: action } = properties(definition);
  if (!('notify' in properties(action))) return false;
  const [condition] = Object.values(properties(when));
  const { dataset, jobs } = properties(condition);
  return 'dataset' in subject ? text(dataset) === subject.dataset : Array.isArray(jobs) && jobs.includes(subject.job);
}

/** The target of a notification. */
export function targetOf(definition: unknown): string {
  return text(properties(properties(properties(definition).do).notify).target) ?? '';
}

/** Whether a stored rule has the same condition and target as a new definition. The service stores times in seconds, and jobs as a list. */
export function isSameRule(stored: unknown, fresh: unknown): boolean {
  return targetOf(stored) === targetOf(fresh) && partsOf(stored) === partsOf(fresh);
}

function partsOf(definition: unknown): string {
  const [[kind, stated] = ['', {}]] = Object.entries(properties(properties(definition).when));
  const { dataset, job, jobs, state, after, failed_check: check } = properties(stated);
  const seconds = typeof after === 'string' ? Number.parseFloat(after) * 3600 : after;
  const [first] = Array.isArray(jobs) ? jobs : [job];
  return JSON.stringify([kind, dataset ?? first, state, seconds, check]);
}
