/** The last segments of each path that tell it from all the others: `clean/weather` beside `raw/weather`, `report` alone. */
export function shortNames(names: Iterable<readonly [id: string, name: string]>): Map<string, string> {
  const segments = new Map([...names].map(([id, name]) => [id, segmentsOf(name)]));
  const short = new Map<string, string>();
  for (const [id, own] of segments) {
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
