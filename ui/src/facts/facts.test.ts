import type { LineageGraph } from '../graph/types';
import { operationsOf } from '../trace/operation';
import { lastRunsOf, sizesOf, summaries, versionsOf } from './datasets';
import { byTime, healthOf, runFacts } from './runs';
import { schemaOf } from './schema';
import { bytesText } from './size';
import { ago, duration, instantText, secondsText, shortAgo } from './time';

const run = (properties: unknown, id = 'run:1', status?: string) =>
  runFacts({ id, properties, ...(status && { ledger: { status, problems: [], rows: null, bytes: null } }) });

test('a successful run is good if its ledger is complete, otherwise partial', () => {
  expect(healthOf(run({ state: 'COMPLETE' }, 'run:1', 'complete'))).toBe('good');
  expect(healthOf(run({ state: 'COMPLETE' }, 'run:1', 'refused'))).toBe('partial');
  // Another tool reported the run.
  expect(healthOf(run({ state: 'COMPLETE' }, 'run:1', 'unknown'))).toBe('reported');
  expect(healthOf(run({ state: 'COMPLETE' }))).toBe('reported');
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

test('the rows of a version are those that any tool stated', () => {
  const statistics = { rowCount: 855_599, size: 1_000, fileCount: 3 };
  expect(sizesOf({ outputStatistics: statistics })).toEqual({ rows: 855_599, bytes: 1_000, files: 3 });
  // Headwater counted itself.
  expect(sizesOf({ rows: 7, outputStatistics: statistics })).toEqual({ rows: 7, bytes: 1_000, files: 3 });
  expect(sizesOf({ outputStatistics: { rowCount: '7' } })).toEqual({});
});

test('a job that gave a dataset up says nothing about it, unless there is no other job', () => {
  const [job, dataset] = writers.nodes;
  const old = { id: 'job:s:old', kind: 'JOB', name: 'old', properties: { lastRun: 'run:6' } } as const;
  const edge = (src: string, former: boolean) => ({ src, dst: REPORT, kind: 'WRITES' as const, former });
  const both = { ...writers, nodes: [job, dataset, old], edges: [edge('job:s:report', false), edge(old.id, true)] };
  expect(lastRunsOf(both as LineageGraph)).not.toContain('run:6');
  const alone = { ...writers, nodes: [dataset, old], edges: [edge(old.id, true)] };
  expect(lastRunsOf(alone as LineageGraph)).toContain('run:6');
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

test.each([
  [9, 'just now'],
  [-9, 'just now'],
  [59, '59 seconds ago'],
  [60, '1 minute ago'],
  [106, '1 minute ago'],
  [119, '1 minute ago'],
  [150, '2 minutes ago'],
  [90 * 60, '90 minutes ago'],
  [119 * 60 + 59, '119 minutes ago'],
  [2.9 * 3600, '2 hours ago'],
  [38 * 3600, '38 hours ago'],
  [47.9 * 3600, '47 hours ago'],
  [71 * 3600, '2 days ago'],
  [29.9 * 86_400, '29 days ago'],
  [31 * 86_400, '2026-01-03'],
  [-3 * 3600, 'in 3 hours'],
])('%d seconds are “%s”, never more than they are', (seconds, text) => {
  const now = Date.parse('2026-02-03T12:00:00Z');
  expect(ago(new Date(now - seconds * 1000).toISOString(), now)).toBe(text);
});

test.each([
  [59.94, '59.9 s'],
  [59.96, '1 min 0 s'],
  [119.7, '2 min 0 s'],
  [3599.8, '1 h 0 min'],
  [7500, '2 h 5 min'],
])('a time of %d s has no sixtieth second or minute: %s', (seconds, text) => {
  expect(secondsText(seconds)).toBe(text);
});

test.each([
  [999_499, '999 kB'],
  [999_600, '1.0 MB'],
  [9_960, '10 kB'],
  [999_950_000, '1.0 GB'],
])('%d bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

test.each([
  [0, 'now'],
  [59, 'now'],
  [60, '1 min'],
  [3599, '59 min'],
  [3600, '1 h'],
  [47.9 * 3600, '47 h'],
  [48 * 3600, '2 d'],
])('the time since %d seconds ago has a short form', (seconds, text) => {
  const now = Date.parse('2026-02-03T12:00:00Z');
  expect(shortAgo(new Date(now - seconds * 1000).toISOString(), now)).toBe(text);
});
