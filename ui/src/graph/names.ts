import { parseId } from './ids';
import type { GraphNode } from './types';

const LOCAL = 'dataset:local:';
const OWN_ROWS = 'the program’s own rows';

/** The shortest unique end of each path: `clean/weather` next to `raw/weather`, otherwise `report`. */
export function shortNames(names: Iterable<readonly [id: string, name: string]>): Map<string, string> {
  const segments = new Map([...names].map(([id, name]) => [id, segmentsOf(name)]));
  const ends = new Map<string, number>();
  for (const own of segments.values()) for (const end of endsOf(own)) ends.set(end, (ends.get(end) ?? 0) + 1);
  const short = new Map<string, string>();
  for (const [id, own] of segments) short.set(id, id.startsWith(LOCAL) ? OWN_ROWS : shortest(own, ends));
  return short;
}

/** Datasets with their short names, in the order of these names. */
export function listDatasets(
  nodes: readonly Pick<GraphNode, 'id' | 'kind' | 'name'>[],
): { id: string; name: string }[] {
  const short = shortNames(nodes.filter(({ kind }) => kind === 'DATASET').map(({ id, name }) => [id, name]));
  return [...short].map(([id, name]) => ({ id, name })).sort((a, b) => a.name.localeCompare(b.name));
}

const SPARK_JOB = /^(.+)\.(?:execute|save_as)_[a-z_]+\.[^.]+$/;

/** The application in OpenLineage's Spark names, `{application}.{operation}.{output}`. Other names stay as they are. */
export function jobTitle(name: string): string {
  return plainText(SPARK_JOB.exec(name)?.[1] ?? name);
}

/** The title of a job with a given id or name. */
export function jobTitleOf(job: string): string {
  return jobTitle(job.startsWith('job:') || job.startsWith('pipeline:') ? pathOf(job) : job);
}

const LONG_TITLE = 14;

/** The words on the card of a job. A long `{pipeline}.{task}` is split: the task is the title, the pipeline is in the caption. */
export function jobWords(name: string, caption: string): { title: string; caption: string } {
  const title = jobTitle(name);
  const dot = title.length > LONG_TITLE ? title.lastIndexOf('.') : -1;
  return dot > 0
    ? { title: title.slice(dot + 1), caption: `${caption} of ${title.slice(0, dot)}` }
    : { title, caption };
}

/** A readable name for the job or dataset that an incomplete answer names. */
export function gapTitle(what: string): string {
  if (what.startsWith('job:')) return jobTitleOf(what);
  return what.startsWith('local:') ? OWN_ROWS : what;
}

/** The path of a dataset, from its id. */
export function pathOf(dataset: string): string {
  return parseId(dataset).parts.at(-1) ?? dataset;
}

/** The last part of the path of a dataset, from its id. */
export function titleOf(dataset: string): string {
  return dataset.startsWith(LOCAL) ? OWN_ROWS : baseName(pathOf(dataset));
}

export function baseName(name: string): string {
  return segmentsOf(name).at(-1) ?? name;
}

/** The shortest unique end of a path. `ends` counts the paths with each end. */
function shortest(own: string[], ends: ReadonlyMap<string, number>): string {
  return endsOf(own).find((end) => ends.get(end) === 1) ?? own.join('/');
}

function endsOf(own: string[]): string[] {
  return own.map((_, index) => own.slice(-index - 1).join('/'));
}

function segmentsOf(name: string): string[] {
  const parts = plainText(name).split('/').filter(Boolean);
  return parts.length > 0 ? parts : [plainText(name)];
}

/** Characters that turn the direction of a text around: with one, `gpj.exe` looks like `exe.jpg`. */
const DIRECTION_MARKS = /[\u202A-\u202E\u2066-\u2069]/g;

/** A name whose letters stand in the order in which they are. */
function plainText(name: string): string {
  return name.replace(DIRECTION_MARKS, '\uFFFD');
}
