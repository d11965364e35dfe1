import type { LineageGraph } from '../graph/types';
import { operationsOf } from '../trace/operation';
import { lastRunsOf, summaries, versionsOf } from './datasets';
import { byTime, healthOf, runFacts } from './runs';
import { schemaOf } from './schema';
import { bytesText } from './size';
import { ago, duration, instantText } from './time';

const run = (properties: unknown, id = 'run:1', status?: string) =>
  runFacts({ id, properties, ...(status && { ledger: { status, problems: [], rows: null, bytes: null } }) });

test('a successful run is good if its ledger is complete, otherwise partial', () => {
  expect(healthOf(run({ state: 'COMPLETE' }, 'run:1', 'complete'))).toBe('good');
  expect(healthOf(run({ state: 'COMPLETE' }, 'run:1', 'refused'))).toBe('partial');
  expect(healthOf(run({ state: 'COMPLETE' }))).toBe('partial');
});

test('a run that failed is failed whatever its ledger says, and a run without an end is running', () => {
  expect(healthOf(run({ state: 'FAIL' }, 'run:1', 'complete'))).toBe('failed');
  expect(healthOf(run({ state: 'START' }))).toBe('running');
  expect(healthOf(undefined)).toBe('unknown');
});

test('properties that are no object have no facts', () => {
  expect(run(null)).toMatchObject({ state: 'OTHER', ledger: undefined });
  expect(run(['x']).state).toBe('OTHER');
});

test('the latest run comes first', () => {
  const runs = [
    run({ startedAt: '2026-01-01T00:00:00Z' }, 'run:a'),
    run({}, 'run:b'),
    run({ startedAt: '2026-01-02T00:00:00Z' }, 'run:c'),
  ];
  expect(byTime(runs).map((each) => each.id)).toEqual(['run:c', 'run:a', 'run:b']);
});

test('a schema is that of the facet; without one there is none', () => {
  expect(schemaOf({ schema: { fields: [{ name: 'a', type: 'int' }, { name: 'b' }, {}] } })).toEqual([
    { name: 'a', type: 'int' },
    { name: 'b', type: '' },
  ]);
  expect(schemaOf(undefined)).toEqual([]);
});

test('operations come in the order of the plan', () => {
  const node = (ordinal: number, text?: string) => ({
    id: `${ordinal}`,
    kind: 'OPERATOR' as const,
    name: 'Scan',
    properties: { ordinal, text },
  });
  expect(operationsOf([node(2), node(0, 'Write csv'), node(1, 'Sort')])).toEqual(['Write csv', 'Sort', 'Scan']);
});

const REPORT = 'dataset:file:/out/report';
const found = [{ id: REPORT, kind: 'DATASET' as const, name: '/out/report', properties: {}, containers: [] }];
const writers: LineageGraph = {
  nodes: [
    { id: 'job:s:report', kind: 'JOB', name: 'report', properties: { lastRun: 'run:7' } },
    { ...found[0], id: REPORT, kind: 'DATASET', name: '/out/report', properties: {} },
  ],
  edges: [{ src: 'job:s:report', dst: REPORT, kind: 'WRITES' }],
  truncated: 0,
};
const actors: LineageGraph = {
  nodes: [
    { id: 'run:7', kind: 'RUN', name: '7', properties: { state: 'COMPLETE', capture: { status: 'complete' } } },
    { id: 'pipeline:s:nightly', kind: 'PIPELINE', name: 'nightly', properties: {} },
    { id: 'version:file:/out/report:7', kind: 'VERSION', name: '7', properties: { rows: 36 } },
  ],
  edges: [{ src: 'pipeline:s:nightly', dst: 'job:s:report', kind: 'CONTAINS' }],
  truncated: 0,
};

test('what is asked for the last runs are the jobs, their runs and what these wrote', () => {
  expect(lastRunsOf(writers)).toEqual(['job:s:report', 'run:7', 'version:file:/out/report:7']);
});

test('a dataset is summed up by its last run, its rows and its pipeline', () => {
  const [report] = summaries(found, writers, actors);
  expect(report).toMatchObject({
    short: 'report',
    rows: 36,
    pipelines: [{ name: 'nightly' }],
    lastRun: { id: 'run:7', state: 'COMPLETE' },
  });
});

test('after a run that failed, a dataset still has the rows of the last one that succeeded', () => {
  const [job, dataset] = writers.nodes;
  const after: LineageGraph = {
    ...writers,
    nodes: [{ ...job, properties: { lastRun: 'run:8', lastComplete: 'run:7' } }, dataset] as LineageGraph['nodes'],
  };
  expect(lastRunsOf(after)).toContain('version:file:/out/report:7');
  const failed = { id: 'run:8', kind: 'RUN' as const, name: '8', properties: { state: 'FAIL' } };
  const attempt = { id: 'version:file:/out/report:8', kind: 'VERSION' as const, name: '8', properties: {} };
  const [report] = summaries(found, after, { ...actors, nodes: [...actors.nodes, failed, attempt] });
  expect(report).toMatchObject({ rows: 36, lastRun: { id: 'run:8', state: 'FAIL' } });
  expect(healthOf(report?.lastRun)).toBe('failed');
});

test('what was written is told apart from what a run only set out to write', () => {
  const versions = [
    { writtenAt: '2026-01-01T00:00:00Z', rows: 3 },
    { block: 'base' },
    { writtenAt: '2026-01-02T00:00:00Z' },
  ];
  const { written, attempts } = versionsOf(versions.map((properties) => ({ properties })));
  expect(written.map((version) => version.writtenAt)).toEqual(['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z']);
  expect(attempts).toBe(1);
});

test('a dataset that no known job writes is summed up too', () => {
  const nothing = { nodes: [], edges: [], truncated: 0 };
  expect(summaries(found, nothing, nothing)).toEqual([
    expect.objectContaining({ id: REPORT, pipelines: [], lastRun: undefined }),
  ]);
});

test('times and sizes read as one says them', () => {
  const now = Date.parse('2026-02-03T12:00:00Z');
  expect(ago('2026-02-03T11:57:00Z', now)).toBe('3 minutes ago');
  expect(ago('2025-01-01T00:00:00Z', now)).toBe('2025-01-01');
  expect(ago('never', now)).toBe('never');
  expect(duration('2026-02-03T12:00:00Z', '2026-02-03T12:01:05Z')).toBe('1 min 5 s');
  expect(instantText('2026-02-03T12:00:00.5Z')).toBe('2026-02-03 12:00:00 UTC');
  expect([0, 999, 1500, 184_320, 5_000_000_000].map(bytesText)).toEqual([
    '0 bytes',
    '999 bytes',
    '1.5 kB',
    '184 kB',
    '5.0 GB',
  ]);
});
