import type { Group, Groupable } from '../graph/groups';
import { parseId } from '../graph/ids';
import { pathOf, shortNames } from '../graph/names';
import type { GraphNode, LineageGraph } from '../graph/types';
import { definedParts } from '../location/location';
import { number, type Properties, properties, text } from './read';
import { byTime, hasFailed, type RunFacts, runFacts } from './runs';

type FoundNode = Pick<GraphNode, 'id' | 'name'> & { containers: Groupable['containers'] };

/** A row of the list of datasets. */
export interface DatasetSummary extends Groupable {
  /** The shortest unique end of its path. */
  short: string;
  /** The last run that wrote it. */
  lastRun?: RunFacts | undefined;
  /** Number of records that the last successful run wrote. */
  rows?: number | undefined;
}

/** The namespace of a dataset: the system that stores it. */
export function namespaceOf(dataset: string): string {
  return parseId(dataset).parts[0] ?? '';
}

/** The namespace and name of a dataset. The name of a local file is its path. */
export function fullName(dataset: string): string {
  const namespace = namespaceOf(dataset);
  return ['', 'file'].includes(namespace) ? pathOf(dataset) : `${namespace} · ${pathOf(dataset)}`;
}

/** Ids of the writing jobs, their last runs, and the versions from these runs. */
export function lastRunsOf(writers: LineageGraph): string[] {
  return [
    ...new Set(
      writerPairs(writers).flatMap(({ dataset, job, run, complete }) => [
        job.id,
        ...(run ? [run] : []),
        ...[run, complete].flatMap((one) => (one ? [versionOf(dataset, one)] : [])),
      ]),
    ),
  ];
}

/** Combine datasets, the jobs that write them (`writers`), and the runs and pipelines of these jobs (`actors`). */
export function summaries(
  datasets: readonly FoundNode[],
  writers: LineageGraph,
  actors: LineageGraph,
): DatasetSummary[] {
  const short = shortNames(datasets.map((node) => [node.id, node.name]));
  const pairs = writerPairs(writers);
  const actorsById = new Map(actors.nodes.map((node) => [node.id, node]));
  return datasets.map((node) => {
    const own = pairs.filter((pair) => pair.dataset === node.id);
    const runs = own.flatMap(({ run }) => actorsById.get(run ?? '') ?? []).map(runFacts);
    const lastRun = byTime(runs)[0];
    const versions = own.flatMap(({ run, complete }) =>
      [run, complete].map((one) => properties(one && actorsById.get(versionOf(node.id, one))?.properties)),
    );
    return {
      id: node.id,
      name: node.name,
      short: short.get(node.id) ?? node.name,
      containers: node.containers,
      pipelines: own.map(({ job }) => pipelineOf(job, actors)),
      lastRun,
      rows: sizesOf(lastWritten(versions) ?? {}).rows,
    };
  });
}

/** Put groups with a failure first, and in each group the datasets that failed. */
export function failuresFirst(groups: readonly Group<DatasetSummary>[]): Group<DatasetSummary>[] {
  const failed = ({ lastRun }: DatasetSummary) => Number(lastRun !== undefined && hasFailed(lastRun));
  return groups
    .map((group) => ({ ...group, items: group.items.toSorted((a, b) => failed(b) - failed(a)) }))
    .toSorted((a, b) => Math.max(...b.items.map(failed)) - Math.max(...a.items.map(failed)));
}

export interface Sizes {
  rows?: number | undefined;
  bytes?: number | undefined;
  files?: number | undefined;
}

/** The size of a version: Headwater's own counts, or those in OpenLineage's facet of output statistics. */
export function sizesOf(version: Properties): Sizes {
  const stated = properties(version.outputStatistics);
  return definedParts<Sizes>({
    rows: number(version.rows) ?? number(stated.rowCount),
    bytes: number(version.bytes) ?? number(stated.size),
    files: number(version.files) ?? number(stated.fileCount),
  });
}

/** The versions of a dataset, the latest first, and the number of runs that started to write one without success. */
export function versionsOf(nodes: readonly Pick<GraphNode, 'properties'>[]): {
  written: Properties[];
  attempts: number;
} {
  const all = nodes.map((node) => properties(node.properties));
  const written = all.filter((version) => text(version.writtenAt) !== undefined);
  written.sort((a, b) => (text(b.writtenAt) ?? '').localeCompare(text(a.writtenAt) ?? ''));
  return { written, attempts: all.length - written.length };
}

/** The properties of the latest version. A run that failed wrote no version. */
function lastWritten(versions: readonly Properties[]): Properties | undefined {
  const written = versions.filter((version) => sizesOf(version).rows !== undefined);
  return written.toSorted((a, b) => (text(b.writtenAt) ?? '').localeCompare(text(a.writtenAt) ?? ''))[0];
}

interface Writer {
  dataset: string;
  job: GraphNode;
  /** Its last run, and its last successful run. */
  run: string | undefined;
  complete: string | undefined;
}

function writerPairs(writers: LineageGraph): Writer[] {
  const nodes = new Map(writers.nodes.map((node) => [node.id, node]));
  // A job that writes the dataset no more says nothing about it, unless there is no other job.
  const current = new Set(writers.edges.filter(({ former }) => !former).map(({ dst }) => dst));
  return writers.edges.flatMap(({ src, dst, kind, former }) => {
    if (former && current.has(dst)) return [];
    const job = nodes.get(src);
    if (kind !== 'WRITES' || job?.kind !== 'JOB') return [];
    const { lastRun, lastComplete } = properties(job.properties);
    return [{ dataset: dst, job, run: text(lastRun), complete: text(lastComplete) }];
  });
}

/** The pipeline of a job, or the job itself if it belongs to no pipeline. */
function pipelineOf(job: GraphNode, actors: LineageGraph): { id: string; name: string } {
  const containers = actors.edges
    .filter((edge) => edge.kind === 'CONTAINS' && edge.dst === job.id)
    .map((edge) => edge.src);
  return actors.nodes.find((node) => node.kind === 'PIPELINE' && containers.includes(node.id)) ?? job;
}

/** `version:{namespace}:{name}:{run}` */
function versionOf(dataset: string, run: string): string {
  return `version:${dataset.slice('dataset:'.length)}:${run.slice('run:'.length)}`;
}
