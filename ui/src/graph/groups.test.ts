import { type Groupable, groupDatasets, SOURCES } from './groups';
import { captionsOf, groupRecords, placeOf, type ReachedRecord } from './records';

const dataset = (name: string, platform: string, ...pipelines: string[]): Groupable => ({
  id: name,
  name,
  containers: [{ id: `platform:${platform}`, kind: 'PLATFORM', name: platform }],
  pipelines: pipelines.map((pipeline) => ({ id: pipeline, name: pipeline })),
});

const items = [dataset('z', 'file', 'clean'), dataset('raw', 's3://in'), dataset('a', 'file', 'clean', 'backfill')];

test('datasets lie on their platform', () => {
  const groups = groupDatasets(items, 'platform');
  expect(groups.map((group) => [group.title, group.items.map((item) => item.name)])).toEqual([
    ['file', ['a', 'z']],
    ['s3://in', ['raw']],
  ]);
});

test('a dataset stands with every pipeline that writes it; sources come last', () => {
  const groups = groupDatasets(items, 'pipeline');
  expect(groups.map((group) => [group.title, group.items.map((item) => item.name)])).toEqual([
    ['backfill', ['a']],
    ['clean', ['a', 'z']],
    [SOURCES, ['raw']],
  ]);
});

const record = (part: Partial<ReachedRecord>): ReachedRecord => ({
  dataset: 'd',
  datasetName: '/data/d',
  file: 'file:/data/d/part-0',
  row: 3,
  line: null,
  grain: 'RECORD',
  values: {},
  ...part,
});

test('records and coarser entries of a dataset are kept apart', () => {
  const [group] = groupRecords([record({}), record({ row: null, grain: 'PARTITION' }), record({ row: 4 })]);
  expect([group?.records.length, group?.coarse.length]).toEqual([2, 1]);
});

test('captions count records, and name the grain where there are none', () => {
  const groups = groupRecords([record({}), record({ dataset: 'e', row: null, grain: 'DATASET' })]);
  const captions = captionsOf(groups, [
    { output: 'between', records: 1200, grain: 'RECORD' },
    { output: 'vague', records: 0, grain: 'DATASET' },
  ]);
  expect(Object.fromEntries(captions)).toEqual({ d: '1 record', e: 'dataset grain', between: '1,200 records' });
});

test('a list that was cut says so of its last dataset', () => {
  const groups = groupRecords([record({}), record({ dataset: 'e' })], 9);
  expect([...captionsOf(groups, []).values()]).toEqual(['1 record', '1+ records']);
});

test('a list that was cut has the known number, unless another dataset can come after it', () => {
  const records = [record({}), record({ dataset: 'e' }), record({ dataset: 'e', row: null, grain: 'PARTITION' })];
  const counts = (datasets: string[]) => [...captionsOf(groupRecords(records, 9000, datasets), []).values()];
  expect(counts(['d', 'e'])).toEqual(['1 record', '8,998 records']);
  expect(counts(['d', 'e', 'f'])).toEqual(['1 record', '1+ records']);
});

test('a place is said as one would look it up', () => {
  expect(placeOf(record({ line: 1011, row: 1009, file: 'file:/raw/weather.csv' }))).toBe('weather.csv, line 1011');
  expect(placeOf(record({}))).toBe('part-0, row 3');
  expect(placeOf(record({ file: null, row: null }))).toBe('d');
  const spark = 'file:/out/part-00000-45ead22d-2324-4dfc-8d31-e0395aa641c5-c000.csv';
  expect(placeOf(record({ file: spark }))).toBe('part-00000….csv, row 3');
});
