/**
 * A small world for development and component tests: the shape of the demo's lineage, with weather that was made up.
 * It is no part of the product, which never sees it.
 */
import type { EdgeKind, NodeKind } from '../src/api/generated/graphql.ts';
import { DATASETS, OUT, RAW } from './datasets.ts';

export interface WorldNode {
  id: string;
  kind: NodeKind;
  name: string;
  properties: Record<string, unknown>;
  /** Id of the container. */
  parent?: string;
  /** The ledger of a run. */
  ledger?: object;
}

export interface WorldEdge {
  src: string;
  dst: string;
  kind: EdgeKind;
  properties: Record<string, unknown>;
}

const PLATFORM = 'platform:file';
const SYSTEM = 'system:spark';

interface WorldJob {
  pipeline: string;
  name: string;
  inputs: string[];
  output: string;
  operations: string[];
  /** What made the column that is traced (max_wind_mph). */
  expressions?: { operator: string; made: { column: string; expression: string }[]; by: string[] }[];
  coarse?: boolean;
}

const cleanJobs: WorldJob[] = ['weather', 'flights', 'planes', 'airlines', 'airports'].map((name) => ({
  pipeline: 'clean',
  name: `clean.execute_insert_into_hadoop_fs_relation_command.${name}`,
  inputs: [`${RAW}/${name}.csv`],
  output: `${OUT}/clean/${name}`,
  operations: ['Write parquet', ...(name === 'weather' ? ['Filter isnotnull(origin#0)'] : []), `Scan csv ${name}.csv`],
}));

const jobs: WorldJob[] = [
  ...cleanJobs,
  {
    pipeline: 'enrich',
    name: 'enrich.execute_insert_into_hadoop_fs_relation_command.enriched',
    output: `${OUT}/enriched`,
    inputs: ['flights', 'airlines', 'planes', 'airports'].map((name) => `${OUT}/clean/${name}`),
    operations: [
      'Write parquet by origin',
      'BatchEvalPython [punctuality(dep_delay#5)#47], [pythonUDF0#50]',
      'Join LeftOuter, (dest#13 = dest#43)',
      'Join LeftOuter, (tailnum#11 = tailnum#24)',
      'Join Inner, (carrier#9 = carrier#20)',
      'Scan parquet',
    ],
  },
  {
    pipeline: 'hourly_weather',
    name: 'hourly_weather.execute_insert_into_hadoop_fs_relation_command.hourly_weather',
    inputs: [`${OUT}/clean/weather`],
    output: `${OUT}/hourly_weather`,
    operations: [
      'Write parquet',
      'Project [origin#0, year#1, month#2, day#3, hour#4, wind_speed#9, day_wind#16]',
      'Window [avg(wind_speed#9) windowspecdefinition(origin#0, day#3, specifiedwindowframe(RowFrame, unboundedpreceding$(), unboundedfollowing$())) AS day_wind#16], [origin#0, day#3]',
      'Scan parquet',
    ],
  },
  {
    pipeline: 'report',
    name: 'report.execute_insert_into_hadoop_fs_relation_command.report',
    inputs: [`${OUT}/hourly_weather`, `${OUT}/enriched`],
    output: `${OUT}/report`,
    operations: [
      'Write csv',
      'Sort [origin#63 ASC NULLS FIRST, year#64 ASC NULLS FIRST, month#65 ASC NULLS FIRST], true',
      'Join LeftOuter, ((origin#63 = origin#26) AND (month#65 = month#4))',
      'Aggregate [origin#63, year#64, month#65], [origin#63, year#64, month#65, max(wind_speed#69) AS max_wind_mph#77]',
      'Scan parquet',
    ],
    expressions: [
      { operator: 'Join', made: [], by: ['((origin = origin) AND (month = month))'] },
      {
        operator: 'Aggregate',
        made: [{ column: 'max_wind_mph', expression: 'max(wind_speed)' }],
        by: ['origin', 'year', 'month'],
      },
    ],
  },
  {
    pipeline: 'station_counts',
    name: 'station_counts',
    inputs: [`${RAW}/weather.csv`],
    output: `${OUT}/station_counts`,
    coarse: true,
    operations: ['RDD textFile, filter, map, reduceByKey'],
  },
];

export const JOBS = jobs.map((job, index) => ({
  ...job,
  id: `job:spark:${job.name}`,
  run: `run:0199a6f0-7c1e-7000-8000-${String(index).padStart(12, '0')}`,
  inputIds: job.inputs.map((path) => `dataset:file:${path}`),
  outputId: `dataset:file:${job.output}`,
}));

function runNode(job: (typeof JOBS)[number], index: number): WorldNode {
  const ledger = job.coarse
    ? {
        status: 'refused',
        problems: [{ operator: 'RDD', reason: 'record capture does not cover RDD programs', kind: 'refused' }],
      }
    : { status: 'complete', problems: [], rows: 26115, bytes: 184320 };
  return {
    id: job.run,
    kind: 'RUN',
    name: job.run.slice(4),
    parent: job.id,
    properties: {
      state: 'COMPLETE',
      startedAt: new Date(Date.UTC(2026, 1, 3, 9, index, 0)).toISOString(),
      endedAt: new Date(Date.UTC(2026, 1, 3, 9, index, 7 + index)).toISOString(),
    },
    ledger,
  };
}

export const NODES: WorldNode[] = [
  { id: PLATFORM, kind: 'PLATFORM', name: 'file', properties: {} },
  { id: SYSTEM, kind: 'SYSTEM', name: 'spark', properties: {} },
  ...DATASETS.map(
    (data): WorldNode => ({
      id: data.id,
      kind: 'DATASET',
      name: data.name,
      parent: PLATFORM,
      properties: { schema: { fields: data.columns } },
    }),
  ),
  ...DATASETS.flatMap((data) =>
    data.columns.map(
      (column, ordinal): WorldNode => ({
        id: `column:${data.id.slice(8)}:${column.name}`,
        kind: 'COLUMN',
        name: column.name,
        parent: data.id,
        properties: { type: column.type, ordinal },
      }),
    ),
  ),
  ...[...new Set(JOBS.map((job) => job.pipeline))].map(
    (name): WorldNode => ({
      id: `pipeline:spark:${name}`,
      kind: 'PIPELINE',
      name,
      parent: SYSTEM,
      properties: {},
    }),
  ),
  ...JOBS.map(
    (job): WorldNode => ({
      id: job.id,
      kind: 'JOB',
      name: job.name,
      parent: `pipeline:spark:${job.pipeline}`,
      properties: { lastRun: job.run },
    }),
  ),
  ...JOBS.map(runNode),
  ...JOBS.map(
    (job): WorldNode => ({
      id: `version:${job.outputId.slice(8)}:${job.run.slice(4)}`,
      kind: 'VERSION',
      name: job.run.slice(4),
      parent: job.outputId,
      properties: {
        block: 'base',
        rows: DATASETS.find((data) => data.id === job.outputId)?.rows.length ?? 0,
        files: 1,
        bytes: 81920,
      },
    }),
  ),
];

/** Columns of the same name derive from one another; the report's are named here. */
const RENAMED: Record<string, string> = {
  max_wind_mph: 'wind_speed',
  mean_wind_mph: 'wind_speed',
  rain_in: 'precip',
  min_visibility_mi: 'visib',
  mean_delay_min: 'dep_delay',
  max_delay_min: 'dep_delay',
  very_late: 'punctuality',
  day_wind: 'wind_speed',
  punctuality: 'dep_delay',
  airline: 'name',
};

function derivations(job: (typeof JOBS)[number]): WorldEdge[] {
  if (job.coarse) return [];
  const output = DATASETS.find((data) => data.id === job.outputId);
  const inputs = DATASETS.filter((data) => job.inputIds.includes(data.id));
  return (output?.columns ?? []).flatMap((column) => {
    const source = inputs.flatMap((input) => input.columns.map((from) => ({ input, from })));
    const found =
      source.find(({ from }) => from.name === column.name) ??
      source.find(({ from }) => from.name === RENAMED[column.name]);
    if (!found) return [];
    return [
      {
        src: `column:${found.input.id.slice(8)}:${found.from.name}`,
        dst: `column:${job.outputId.slice(8)}:${column.name}`,
        kind: 'DERIVES' as const,
        properties: {
          transformations: [{ type: 'DIRECT', subtype: job.pipeline === 'report' ? 'AGGREGATION' : 'IDENTITY' }],
        },
      },
    ];
  });
}

export const EDGES: WorldEdge[] = JOBS.flatMap((job): WorldEdge[] => [
  ...job.inputIds.map((src): WorldEdge => ({ src, dst: job.id, kind: 'READS', properties: {} })),
  { src: job.id, dst: job.outputId, kind: 'WRITES', properties: {} },
  ...derivations(job),
]).concat(
  NODES.flatMap((node): WorldEdge[] =>
    node.parent ? [{ src: node.parent, dst: node.id, kind: 'CONTAINS' as const, properties: {} }] : [],
  ),
);
