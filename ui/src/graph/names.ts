import { parseId } from './ids';

/** Rows that a program made of its own values are a dataset, but one without a name. */
const LOCAL = 'dataset:local:';
const OWN_ROWS = 'the program’s own rows';

/** The last segments of each path that tell it from all the others: `clean/weather` beside `raw/weather`, `report` alone. */
export function shortNames(names: Iterable<readonly [id: string, name: string]>): Map<string, string> {
  const segments = new Map([...names].map(([id, name]) => [id, segmentsOf(name)]));
  const short = new Map<string, string>();
  for (const [id, own] of segments) {
    if (id.startsWith(LOCAL)) {
      short.set(id, OWN_ROWS);
      continue;
    }
    const others = [...segments].filter(([other]) => other !== id).map(([, parts]) => parts);
    short.set(id, shortest(own, others));
  }
  return short;
}

const SPARK_JOB = /^(.+)\.(?:execute|save_as)_[a-z_]+\.[^.]+$/;

/** What a job is called for short. OpenLineage's Spark names read `{application}.{operation}.{output}`; any other name stays whole. */
export function jobTitle(name: string): string {
  return SPARK_JOB.exec(name)?.[1] ?? name;
}

/** What an answer says is missing, as people call it: a job by its title, rows of a program as such, all else as it is. */
export function gapTitle(what: string): string {
  if (what.startsWith('job:')) return jobTitle(parseId(what).parts.at(-1) ?? what);
  return what.startsWith('local:') ? OWN_ROWS : what;
}

/** The last segment of a path. */
export function baseName(name: string): string {
  return segmentsOf(name).at(-1) ?? name;
}

function shortest(own: string[], others: string[][]): string {
  for (let length = 1; length < own.length; length++) {
    const tail = own.slice(-length).join('/');
    if (!others.some((other) => other.slice(-length).join('/') === tail)) return tail;
  }
  return own.join('/');
}

function segmentsOf(name: string): string[] {
  const parts = name.split('/').filter(Boolean);
  return parts.length > 0 ? parts : [name];
}
