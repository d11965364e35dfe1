import { parseId } from './ids';

/** Rows that a program made of its own values are a dataset, but one without a name. */
const LOCAL = 'dataset:local:';
const OWN_ROWS = 'the program’s own rows';

/** The last segments of each path that tell it from all the others: `clean/weather` beside `raw/weather`, `report` alone. */
export function shortNames(names: Iterable<readonly [id: string, name: string]>): Map<string, string> {
  const segments = new Map([...names].map(([id, name]) => [id, segmentsOf(name)]));
  const ends = new Map<string, number>();
  for (const own of segments.values()) for (const end of endsOf(own)) ends.set(end, (ends.get(end) ?? 0) + 1);
  const short = new Map<string, string>();
  for (const [id, own] of segments) short.set(id, id.startsWith(LOCAL) ? OWN_ROWS : shortest(own, ends));
  return short;
}

const SPARK_JOB = /^(.+)\.(?:execute|save_as)_[a-z_]+\.[^.]+$/;

/** What a job is called for short. OpenLineage's Spark names read `{application}.{operation}.{output}`; any other name stays whole. */
export function jobTitle(name: string): string {
  return SPARK_JOB.exec(name)?.[1] ?? name;
}

/** What a job is called for short, from its id or its name. */
export function jobTitleOf(job: string): string {
  return jobTitle(job.startsWith('job:') || job.startsWith('pipeline:') ? (parseId(job).parts.at(-1) ?? job) : job);
}

/** What an answer says is missing, as people call it: a job by its title, rows of a program as such, all else as it is. */
export function gapTitle(what: string): string {
  if (what.startsWith('job:')) return jobTitleOf(what);
  return what.startsWith('local:') ? OWN_ROWS : what;
}

/** The last segment of a path. */
export function baseName(name: string): string {
  return segmentsOf(name).at(-1) ?? name;
}

/** The shortest end of a path that no other path has; `ends` says how many paths have one. */
function shortest(own: string[], ends: ReadonlyMap<string, number>): string {
  return endsOf(own).find((end) => ends.get(end) === 1) ?? own.join('/');
}

/** The ends of a path, the shortest first. */
function endsOf(own: string[]): string[] {
  return own.map((_, index) => own.slice(-index - 1).join('/'));
}

function segmentsOf(name: string): string[] {
  const parts = name.split('/').filter(Boolean);
  return parts.length > 0 ? parts : [name];
}
