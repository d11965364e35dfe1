import type { Groupable } from '../graph/groups';
import { shortNames } from '../graph/names';
import type { GraphNode, LineageGraph } from '../graph/types';
import { number, properties, text } from './read';
import { byTime, type RunFacts, runFacts } from './runs';

type FoundNode = GraphNode & { containers: Groupable['containers'] };

/** A dataset as the list shows it. */
export interface DatasetSummary extends Groupable {
  /** The end of its path that tells it from the others. */
  short: string;
  /** The last run that wrote it, if any did. */
  lastRun?: RunFacts | undefined;
  /** Number of records that this run wrote. */
  rows?: number | undefined;
}

/** What to ask for to know the last runs: writing jobs, their last runs, and the versions that these wrote. */
export function lastRunsOf(writers: LineageGraph): string[] {
  return [
    ...new Set(
      writerPairs(writers).flatMap(({ dataset, job, run }) =>
        run ? [job.id, run, versionOf(dataset, run)] : [job.id],
      ),
    ),
  ];
}

/** The list, from the datasets found, the jobs that write them (`writers`) and these jobs' runs and pipelines (`actors`). */
export function summaries(found: readonly FoundNode[], writers: LineageGraph, actors: LineageGraph): DatasetSummary[] {
  const short = shortNames(found.map((node) => [node.id, node.name]));
  const pairs = writerPairs(writers);
  const known = new Map(actors.nodes.map((node) => [node.id, node]));
  return found.map((node) => {
    const own = pairs.filter((pair) => pair.dataset === node.id);
    const runs = own.flatMap(({ run }) => {
      const ran = run === undefined ? undefined : known.get(run);
      return ran ? [runFacts(ran)] : [];
    });
    const lastRun = byTime(runs)[0];
    const version = lastRun && known.get(versionOf(node.id, lastRun.id));
    return {
      id: node.id,
      name: node.name,
      short: short.get(node.id) ?? node.name,
      containers: node.containers,
      pipelines: own.map(({ job }) => pipelineOf(job, actors)),
      lastRun,
      rows: number(properties(version?.properties).rows),
    };
  });
}

function writerPairs(writers: LineageGraph): { dataset: string; job: GraphNode; run: string | undefined }[] {
  const nodes = new Map(writers.nodes.map((node) => [node.id, node]));
  return writers.edges.flatMap(({ src, dst, kind }) => {
    const job = nodes.get(src);
    return kind === 'WRITES' && job?.kind === 'JOB'
      ? [{ dataset: dst, job, run: text(properties(job.properties).lastRun) }]
      : [];
  });
}

/** The pipeline that contains a job; a job that no pipeline contains stands for itself. */
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
