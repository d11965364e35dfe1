/** The kinds of conditions and actions in the form for a trigger. A kind is a list of parts, and the definition contains those with a value. */

export interface Part {
  name: string;
  label: string;
  isRequired?: boolean;
  placeholder?: string;
  /** Possible values. The first one is the default. */
  options?: readonly string[];
  /** Suggestions from the service. */
  suggest?: 'datasets' | 'jobs' | 'triggers';
  /** Whether the value is a list, separated by commas. */
  isList?: boolean;
}

export interface Kind {
  name: string;
  label: string;
  parts: readonly Part[];
}

const DATASET: Part = { name: 'dataset', label: 'Dataset', isRequired: true, suggest: 'datasets' };
const JOB: Part = { name: 'job', label: 'Job', isRequired: true, suggest: 'jobs' };
const TARGET: Part = {
  name: 'target',
  label: 'Target',
  isRequired: true,
  placeholder: 'a name from the operator’s list',
};
const COMBINATION: readonly Part[] = [
  {
    name: 'of',
    label: 'Triggers',
    isRequired: true,
    isList: true,
    suggest: 'triggers',
    placeholder: 'two names or more',
  },
  { name: 'within', label: 'Within', placeholder: '1h' },
];

export const CONDITIONS: readonly Kind[] = [
  {
    name: 'data',
    label: 'a dataset has a new version',
    parts: [DATASET, { name: 'where', label: 'With new rows where', placeholder: 'a DuckDB predicate' }],
  },
  {
    name: 'stale',
    label: 'a dataset has no new version for some time',
    parts: [DATASET, { name: 'after', label: 'For', isRequired: true, placeholder: '24h' }],
  },
  {
    name: 'failed_check',
    label: 'a check of a dataset fails',
    parts: [DATASET, { name: 'failed_check', label: 'Check', placeholder: 'any check' }],
  },
  {
    name: 'cascade',
    label: 'a run of a job changes its state',
    parts: [JOB, { name: 'state', label: 'State', options: ['completed', 'started', 'failed', 'aborted'] }],
  },
  {
    name: 'every',
    label: 'some time has passed',
    parts: [
      { name: 'every', label: 'Every', isRequired: true, placeholder: '15m' },
      { name: 'missed', label: 'Missed instants', options: ['once', 'skip', 'all'] },
    ],
  },
  {
    name: 'cron',
    label: 'a time of a cron expression comes',
    parts: [
      { name: 'cron', label: 'Cron expression', isRequired: true, placeholder: '0 6 * * 1-5' },
      { name: 'zone', label: 'Time zone', placeholder: 'UTC' },
      { name: 'missed', label: 'Missed instants', options: ['once', 'skip', 'all'] },
    ],
  },
  {
    name: 'deviation',
    label: 'something deviates from a policy',
    parts: [
      { name: 'policy', label: 'Policy', placeholder: 'any policy' },
      { name: 'rule', label: 'Rule', placeholder: 'any rule' },
      { name: 'severity', label: 'Severity, at least', options: ['info', 'warning', 'error'] },
    ],
  },
  { name: 'all_of', label: 'all of some triggers fire', parts: COMBINATION },
  { name: 'any_of', label: 'one of some triggers fires', parts: COMBINATION },
  { name: 'manual', label: 'somebody fires it', parts: [] },
];

export const ACTIONS: readonly Kind[] = [
  { name: 'run', label: 'run a registered program', parts: [JOB] },
  {
    name: 'replay',
    label: 'start a replay',
    parts: [
      { name: 'kind', label: 'Kind', options: ['refresh', 'verify', 'exclusive', 'selective'] },
      { name: 'dataset', label: 'Source', suggest: 'datasets', placeholder: '@cause for the changed dataset' },
      { name: 'output', label: 'Output', suggest: 'datasets' },
      { name: 'where', label: 'Records where', placeholder: 'a DuckDB predicate' },
    ],
  },
  { name: 'recapture', label: 'find the record lineage of a dataset', parts: [DATASET] },
  { name: 'webhook', label: 'call a webhook', parts: [TARGET] },
  { name: 'notify', label: 'send a notification', parts: [TARGET, { name: 'text', label: 'Text' }] },
  {
    name: 'report',
    label: 'write a report',
    parts: [
      { name: 'of', label: 'Report', options: ['retention', 'deviations', 'lineage', 'impact', 'column'] },
      { name: 'node', label: 'Of', suggest: 'datasets', placeholder: 'for lineage and impact' },
      { name: 'format', label: 'Format', options: ['csv', 'html'] },
      { name: 'target', label: 'Send to', placeholder: 'nobody' },
    ],
  },
];

/** Conditions that the form splits into two kinds for the reader. */
const DOCUMENT_NAMES: Record<string, string> = { failed_check: 'data', every: 'time', cron: 'time' };

export function makeDefinition(field: (name: string) => string | null): Record<string, unknown> {
  const coolDown = field('cool_down');
  return {
    name: field('name'),
    when: statement(CONDITIONS, 'when', field),
    do: statement(ACTIONS, 'do', field),
    ...(coolDown && { limits: { cool_down: coolDown } }),
  };
}

function statement(kinds: readonly Kind[], prefix: string, field: (name: string) => string | null) {
  const kind = kinds.find(({ name }) => name === field(prefix));
  if (!kind) return {};
  const values = kind.parts.map(({ name, isList }) => {
    const text = field(`${prefix}.${name}`);
    if (name === 'failed_check') return [name, text ?? true];
    return [name, isList ? text?.split(',').map((each) => each.trim()) : (text ?? undefined)];
  });
  return { [DOCUMENT_NAMES[kind.name] ?? kind.name]: Object.fromEntries(values) };
}
