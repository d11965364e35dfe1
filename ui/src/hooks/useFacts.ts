import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { LineageDocument, type LineageQuery } from '../api/generated/first/graphql';
import { request } from '../api/request';
import { lastRunsOf, summaries } from '../facts/datasets';
import { properties, text } from '../facts/read';
import { healthOf, type NodeState, type RunFacts, runFacts } from '../facts/runs';
import { ago, shortAgo } from '../facts/time';

/** The state of the last run of a node, and how long ago it was. */
export interface NodeFacts {
  state: NodeState;
  /** `38 min` */
  age: string;
  /** `last run 38 minutes ago, good` */
  text: string;
  /** Number of unusual values of the last complete run of a job. */
  unusual?: number;
}

/** Above this number of cards, the drawing is too small for words about runs. */
const MAX_ASKED = 400;
const NOTHING: ReadonlyMap<string, NodeFacts> = new Map();

/** The last runs of datasets and jobs by id. A dataset has the last run that wrote it. The drawing does not wait for them. */
export function useFacts(ids: readonly string[], enabled: boolean): ReadonlyMap<string, NodeFacts> {
  const known = ids.filter((id) => id.startsWith('dataset:') || id.startsWith('job:')).toSorted();
  const { data = NOTHING } = useQuery({
    queryKey: ['facts', known],
    queryFn: ({ signal }) => load(known, signal),
    enabled: enabled && known.length > 0 && known.length <= MAX_ASKED,
    placeholderData: keepPreviousData,
  });
  return data;
}

async function load(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, NodeFacts>> {
  const datasets = ids.filter((id) => id.startsWith('dataset:'));
  const jobs = ids.filter((id) => id.startsWith('job:'));
  const [writers, own] = await Promise.all([ask(datasets, 1, 'WRITES', signal), ask(jobs, 0, 'WRITES', signal)]);
  const lastRuns = new Map(own.nodes.map(({ id, properties: facts }) => [id, text(properties(facts).lastRun)]));
  const runs = [...lastRuns.values()].filter((run) => run !== undefined);
  const actors = await ask([...new Set([...lastRunsOf(writers), ...runs])], 1, 'CONTAINS', signal);
  const runsById = new Map(actors.nodes.filter(({ kind }) => kind === 'RUN').map((node) => [node.id, runFacts(node)]));
  const facts = new Map<string, NodeFacts>();
  const add = (id: string, run: RunFacts | undefined) => {
    const fact = run && factOf(run);
    if (fact) facts.set(id, fact);
  };
  for (const [job, run] of lastRuns) add(job, runsById.get(run ?? ''));
  const drawn = writers.nodes.filter(({ kind }) => kind === 'DATASET').map((node) => ({ ...node, containers: [] }));
  for (const { id, lastRun } of summaries(drawn, writers, actors)) add(id, lastRun);
  return facts;
}

function factOf(run: RunFacts): NodeFacts {
  const instant = run.ended ?? run.started;
  const state = healthOf(run);
  if (!instant) return { state, age: '', text: `last run ${state}` };
  return { state, age: shortAgo(instant), text: `last run ${ago(instant)}, ${state}` };
}

async function ask(
  focus: string[],
  depth: number,
  kind: 'WRITES' | 'CONTAINS',
  signal: AbortSignal,
): Promise<LineageQuery['lineage']> {
  if (focus.length === 0) return { nodes: [], edges: [], truncated: 0 };
  return (await request(LineageDocument, { focus, direction: 'UPSTREAM', depth, kinds: [kind] }, signal)).lineage;
}
