/** Resolvers of the development world under the schema of the real service. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GraphQLError } from 'graphql';
import { createSchema, createYoga } from 'graphql-yoga';
import { find, recordOf, type TraceArguments, trace } from './answers.ts';
import { DATASETS } from './datasets.ts';
import { people } from './people.ts';
import { replays } from './replays.ts';
import { versionQuery } from './versions.ts';
import { type ViewArguments, view, viewLink } from './view.ts';
import type { Work } from './work.ts';
import { EDGES, NODES, type WorldEdge, type WorldNode } from './world.ts';

const SDL = readFileSync(join(import.meta.dirname, '../../graphql/schema.graphql'), 'utf8');
const node = (id: string) => NODES.find((candidate) => candidate.id === id);

function ancestors(id: string): WorldNode[] {
  const parent = node(node(id)?.parent ?? '');
  return parent ? [parent, ...ancestors(parent.id)] : [];
}

function reach(focus: string[], upstream: boolean, kinds: string[], depth: number): Set<string> {
  const reached = new Set(focus);
  for (let hop = 0; hop < depth; hop++) {
    for (const edge of EDGES) {
      const [from, to] = upstream ? [edge.dst, edge.src] : [edge.src, edge.dst];
      if (kinds.includes(edge.kind) && reached.has(from)) reached.add(to);
    }
  }
  return reached;
}

function lineage({
  focus,
  direction,
  depth,
  kinds,
}: {
  focus: string[];
  direction: string;
  depth: number;
  kinds?: string[];
}) {
  const followed = kinds ?? ['READS', 'WRITES'];
  const up = direction === 'DOWNSTREAM' ? [] : reach(focus, true, followed, depth);
  const down = direction === 'UPSTREAM' ? [] : reach(focus, false, followed, depth);
  return subgraph(new Set([...up, ...down]), followed);
}

function subgraph(ids: ReadonlySet<string>, kinds: string[]) {
  const edges = EDGES.filter((edge: WorldEdge) => kinds.includes(edge.kind) && ids.has(edge.src) && ids.has(edge.dst));
  return { nodes: NODES.filter((candidate) => ids.has(candidate.id)), edges, truncated: 0 };
}

function pathGraph(asked: TraceArguments, answer: ReturnType<typeof trace>) {
  const ids = new Set(answer.path.flatMap((hop) => [hop.job, hop.output, ...hop.inputs]));
  for (const record of [...answer.selected, ...answer.records]) ids.add(record.dataset);
  const column = asked.column ? [`column:${asked.dataset.slice(8)}:${asked.column}`] : [];
  for (const id of reach(column, !asked.forward, ['DERIVES'], 9)) ids.add(id);
  return subgraph(ids, ['READS', 'WRITES', 'DERIVES']);
}

/** The predicates that the world understands: `column op value`, and one way to get each wrong. */
function matches(where: string, columns: { name: string }[]): (row: unknown[]) => boolean {
  const found = /^\s*(\w+)\s*(=|>|<)\s*'?([^']*?)'?\s*$/.exec(where);
  if (!found)
    throw refusal(
      `The predicate ${where} is not understood: syntax error at end of input.`,
      "A predicate reads like: month = 2 AND origin = 'EWR'",
    );
  const [, name, operator, value] = found;
  const index = columns.findIndex((column) => column.name === name);
  if (index < 0)
    throw refusal(`There is no column ${name}.`, `The columns are ${columns.map((column) => column.name).join(', ')}.`);
  return (row) => {
    if (operator === '=') return String(row[index]) === value;
    return operator === '>' ? Number(row[index]) > Number(value) : Number(row[index]) < Number(value);
  };
}

function refusal(message: string, hint: string, code = 'InvalidQueryError'): GraphQLError {
  return new GraphQLError(message, { extensions: { code, field: 'where', hint, transient: false } });
}

interface RowsArguments {
  dataset: string;
  where?: string;
  order?: { column: string; descending: boolean };
  first: number;
  offset: number;
}

function rows({ dataset, where, order, first, offset }: RowsArguments) {
  if (!DATASETS.some(({ id }) => id === dataset))
    throw refusal(`No dataset is called ${dataset}.`, 'Near are: /demo/out/report.', 'NotFoundError');
  const data = find(dataset);
  if (data.name.endsWith('planes.csv'))
    return {
      dataset: data.id,
      columns: [],
      rows: [],
      total: 0,
      hasRecordLineage: false,
      note: `${data.name} is not readable here. Name its folder in HEADWATER_DATA_ROOTS.`,
    };
  const keeps = where ? matches(where, data.columns) : () => true;
  const kept = data.rows.flatMap((values, row) =>
    keeps(values) ? [{ file: data.file, row, line: recordOf(data, row).line, values }] : [],
  );
  const by = data.columns.findIndex((column) => column.name === order?.column);
  if (by >= 0) kept.sort((a, b) => (order?.descending ? -1 : 1) * (Number(a.values[by]) - Number(b.values[by])));
  const hasRecordLineage = !data.name.endsWith('station_counts');
  return {
    dataset: data.id,
    columns: data.columns,
    rows: kept.slice(offset, offset + first),
    total: kept.length,
    hasRecordLineage,
    note: hasRecordLineage
      ? null
      : 'The run that wrote it was captured without its records: traces name datasets, not records.',
  };
}

const KEY: Record<string, unknown> & { id: string; name: string } = {
  id: '3f2a91c0',
  name: 'airflow',
  tenant: 'default',
  scopes: ['intake'],
  state: 'VALID',
  created: '2026-02-01T08:00:00+00:00',
  expires: null,
  used: '2026-02-03T09:31:00+00:00',
};

const AUDIT = [
  {
    at: '2026-02-03T09:31:04+00:00',
    who: 'person:ann@example.com:1f0c2e7a',
    tenant: 'default',
    operation: 'trace',
    subjects: ['/demo/out/report'],
    more: 0,
    records: 36,
    decision: 'allowed',
    reason: null,
    address: '127.0.0.1',
    request: null,
  },
];

function administration() {
  const keys = [KEY];
  const make = (name: string, scopes: string[]) => {
    const key = { ...KEY, id: `0000000${keys.length}`, name, scopes, used: null };
    keys.unshift(key);
    return { key, secret: `hwk_${key.id}_secret` };
  };
  const query = {
    admin: () => ({
      keys: keys.filter(({ state }) => state === 'VALID'),
      roles: [
        { name: 'producer', scopes: ['intake'] },
        { name: 'viewer', scopes: ['read'] },
      ],
      tenants: [{ name: 'default', keys: keys.length, grants: 1 }],
      people: {
        issuer: 'https://login.example.com',
        fault: null,
        grants: [{ claim: ['realm_access', 'roles'], value: 'data', tenant: 'default', scopes: ['read'] }],
      },
    }),
    audit: (_: unknown, { by }: { by?: string }) => ({
      entries: AUDIT.filter(({ who }) => !by || who.includes(by)),
      damaged: 0,
      searchedBackTo: null,
    }),
    auditVerification: () => ({
      intact: true,
      whole: true,
      since: '2026-02-01T08:00:00+00:00',
      lines: 41,
      head: 'a'.repeat(64),
      breaks: [],
    }),
  };
  const mutation = {
    createKey: (_: unknown, { name, roles }: { name: string; roles: string[] }) => make(name, roles),
    rotateKey: (_: unknown, { id }: { id: string }) => make(keys.find((key) => key.id === id)?.name ?? '', ['intake']),
    revokeKey: (_: unknown, { id }: { id: string }) => {
      const place = keys.findIndex((key) => key.id === id);
      keys[place] = { ...KEY, ...keys[place], state: 'REVOKED' };
      return keys[place];
    },
  };
  return { query, mutation };
}

function traced(asked: TraceArguments) {
  const answer = trace(asked);
  return { ...answer, graph: pathGraph(asked, answer) };
}

/** Traces that are too large to be answered at once. A job comes a step further with each look, if the work proceeds. */
function traceJobs(work: Work) {
  const lines = [
    'This trace is expected to look at more than 80 million rows: it is followed by jobs of Spark.',
    'report: 36 records',
  ];
  const jobs = new Map<string, { asked: TraceArguments; looks: number; cancelled: boolean }>();
  const stateOf = ({ looks, cancelled }: { looks: number; cancelled: boolean }) => {
    if (cancelled) return 'CANCELLED';
    if (looks >= lines.length) return 'COMPLETE';
    return looks === 0 ? 'QUEUED' : 'RUNNING';
  };
  const look = (id: string) => {
    const job = jobs.get(id);
    if (!job) return null;
    const state = stateOf(job);
    const told = { id, state, startedAt: new Date().toISOString(), progress: lines.slice(0, job.looks), error: null };
    if (work.proceeds || job.looks === 0) job.looks += 1;
    return { ...told, answer: state === 'COMPLETE' ? traced(job.asked) : null };
  };
  return {
    refuse: () => {
      throw new GraphQLError(
        'This trace is expected to look at more than 80 million rows, which is too much to be answered at once.',
        { extensions: { code: 'LargeTraceError', transient: false } },
      );
    },
    look,
    start: (asked: TraceArguments) => {
      const id = `job-${jobs.size}`;
      jobs.set(id, { asked, looks: 0, cancelled: false });
      return { id, state: 'QUEUED', startedAt: new Date().toISOString(), progress: [] };
    },
    cancel: (id: string) => {
      const job = jobs.get(id);
      if (job) job.cancelled = true;
      return look(id);
    },
  };
}

/** Programs run again for their records: of `station_counts`, which then is known by record, unless what it writes `differs`. */
function recaptures(mayRun: boolean, differs: boolean, work: Work) {
  const dataset = 'dataset:file:/demo/out/station_counts';
  const states = ['QUEUED', 'RUNNING', differs ? 'FAILED' : 'COMPLETE'];
  let looks: number | undefined;
  const look = () => {
    const state = states[Math.min(looks ?? 0, states.length - 1)] ?? 'QUEUED';
    const error = state === 'FAILED' ? '/demo/out/station_counts/part-00000 holds other bytes.' : null;
    return { id: 'recapture', dataset, state, startedAt: new Date().toISOString(), endedAt: null, error };
  };
  return {
    list: () => {
      if (looks === undefined) return [];
      if (work.proceeds) looks += 1;
      return [look()];
    },
    start: () => {
      looks = 0;
      return look();
    },
    of: (answer: ReturnType<typeof traced>) => {
      const isOf = answer.path.some((hop) => hop.output === dataset && hop.grain === 'DATASET');
      if (!isOf) return answer;
      if (looks === undefined || look().state !== 'COMPLETE')
        return { ...answer, recapturable: mayRun ? [dataset] : [] };
      const path = answer.path.map((hop) => ({ ...hop, grain: 'RECORD', recaptured: '2026-02-03T10:12:00Z' }));
      return { ...answer, path, exact: true, incomplete: [] };
    },
  };
}

/** Facts of a producer that wishes us ill. */
function factsOf(id: string) {
  if (id !== 'job:spark:report.execute_insert_into_hadoop_fs_relation_command.report')
    return { inputs: [], outputs: [] };
  const markup = '<img src=x onerror=alert(1)>';
  return {
    inputs: [],
    outputs: [],
    sql: {
      query: Array.from({ length: 30 }, (_, line) => `SELECT ${line} -- ${markup}`).join('\n'),
      dialect: 'spark',
      cut: true,
    },
    sourcePlace: { url: null, stated: 'javascript:alert(1)' },
    error: { message: `no ${markup}`, stackTrace: 'at Report.main', cut: false },
  };
}

interface FindArguments {
  text: string;
  kinds?: string[] | null;
  states?: string[] | null;
  first: number;
  after?: string | null;
}

/** Nodes with all words of a text in their name. */
function findNodes(nodes: readonly WorldNode[], { text, kinds, states, first, after }: FindArguments) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = kinds ?? ['DATASET', 'COLUMN', 'JOB'];
  const found = nodes.filter(
    (each) =>
      wanted.includes(each.kind) && words.every((word) => each.name.toLowerCase().includes(word)) && !states?.length,
  );
  const begin = Number(after ?? 0);
  const end = begin + first;
  return {
    hits: found
      .slice(begin, end)
      .map((each) => ({ node: each, score: 1, matched: words, namespace: 'file', state: null })),
    total: found.length,
    counted: true,
    complete: true,
    cursor: end < found.length ? `${end}` : null,
    facets: [
      {
        name: 'state',
        values: [
          { value: 'COMPLETE', count: found.length },
          { value: 'FAIL', count: 0 },
        ],
      },
    ],
  };
}

interface FixtureOptions {
  /** Whether there is no data. */
  empty?: boolean;
  /** Whether traces are too large for an immediate answer. */
  large?: boolean;
  scopes?: readonly string[];
  /** Whether a recapture writes other files than the first run. */
  differs?: boolean;
  /** Further resolvers of the root, for the test of one page. */
  query?: Record<string, unknown>;
  mutation?: Record<string, unknown>;
  /** Whether the work of the service proceeds with each look at it. */
  work?: Work;
}

/** Answers GraphQL in the process or behind a server. */
export function createFixture({ empty = false, large = false, scopes = ['read'], ...more }: FixtureOptions = {}) {
  const nodes = empty ? [] : NODES;
  const { query, mutation } = administration();
  const work = more.work ?? { proceeds: true };
  const jobs = large ? traceJobs(work) : undefined;
  const replay = replays(empty, work);
  const stated = people();
  const again = recaptures(scopes.includes('replay'), more.differs ?? false, work);
  return createYoga({
    logging: false,
    maskedErrors: false,
    landingPage: false,
    schema: createSchema({
      typeDefs: SDL,
      resolvers: {
        Query: {
          versions: () => ({ nodes: [], edges: [], pageInfo: {} }),
          service: () => ({
            version: '0.1.0',
            store: 'sqlite',
            nodes: nodes.length,
            runs: empty ? 0 : 9,
            captures: empty ? 0 : 8,
            pending: 0,
          }),
          node: (_: unknown, { id }: { id: string }) => node(id) ?? null,
          find: (_: unknown, asked: FindArguments) => findNodes(nodes, asked),
          search: (_: unknown, { text, kinds, first }: { text: string; kinds?: string[]; first: number }) => {
            const found = nodes.filter(
              (each) => (!kinds || kinds.includes(each.kind)) && each.name.toLowerCase().includes(text.toLowerCase()),
            );
            return { nodes: found.slice(0, first), cursor: null, total: found.length };
          },
          lineage: (_: unknown, asked: Parameters<typeof lineage>[0]) => lineage(asked),
          view: (_: unknown, asked: ViewArguments) => view(asked),
          viewLink: (_: unknown, asked: Parameters<typeof viewLink>[0]) => viewLink(asked),
          rows: (_: unknown, asked: Parameters<typeof rows>[0]) => rows(asked),
          trace: (_: unknown, asked: TraceArguments) => (jobs ? jobs.refuse() : again.of(traced(asked))),
          traceJob: (_: unknown, { id }: { id: string }) => jobs?.look(id) ?? null,
          ...replay.query,
          ...versionQuery,
          recaptures: () => again.list(),
          culpritSearches: () => [],
          suspects: () => [],
          ...stated.query,
          ...query,
          ...more.query,
        },
        Mutation: {
          ...replay.mutation,
          startRecapture: () => again.start(),
          startTrace: (_: unknown, asked: TraceArguments) => jobs?.start(asked),
          cancelTrace: (_: unknown, { id }: { id: string }) => jobs?.cancel(id) ?? null,
          ...stated.mutation,
          ...mutation,
          ...more.mutation,
        },
        Edge: { former: ({ former }: { former?: boolean }) => former ?? false },
        ViewEdge: { former: ({ former }: { former?: boolean }) => former ?? false },
        Node: {
          // A test of one page gives its nodes these parts.
          containers: ({ id, containers }: WorldNode & { containers?: unknown[] }) => containers ?? ancestors(id),
          descriptions: stated.descriptionsOf,
          facts: ({ id, facts }: WorldNode & { facts?: object }) => facts ?? factsOf(id),
          unwritten: () => false,
          children: ({ id }: WorldNode, { kinds, first }: { kinds?: string[]; first: number }) => {
            const found = NODES.filter((each) => each.parent === id && (!kinds || kinds.includes(each.kind)));
            return { nodes: found.slice(0, first), cursor: null, total: found.length };
          },
        },
      },
    }),
  });
}
