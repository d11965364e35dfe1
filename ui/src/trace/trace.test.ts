import { traceCommand } from './command';
import { exampleFor } from './predicate';
import { plainText, type SentenceFacts, sentenceOf } from './sentence';
import { nextOrder } from './sorting';
import { formatValue, isNumericType, sameValue } from './values';
import { versionOfRecord } from './version';

const facts: SentenceFacts = {
  dataset: 'report',
  place: 'line 15',
  column: 'max_wind_mph',
  value: 1048.36,
  semantics: 'witness',
  direction: 'backward',
  records: 1,
  datasets: ['weather.csv'],
  coarse: [],
};
const say = (part: Partial<SentenceFacts>) => plainText(sentenceOf({ ...facts, ...part }));

test.each([
  [{}, 'max_wind_mph = 1048.36 of line 15 in report comes from 1 record in weather.csv.'],
  [
    { semantics: 'influence', records: 669 },
    'max_wind_mph = 1048.36 of line 15 in report was influenced by 669 records in weather.csv.',
  ],
  [{ value: undefined }, 'max_wind_mph of line 15 in report comes from 1 record in weather.csv.'],
  [{ value: null }, 'max_wind_mph = null of line 15 in report comes from 1 record in weather.csv.'],
  [
    { records: 25621, datasets: ['a', 'b', 'c'] },
    'max_wind_mph = 1048.36 of line 15 in report comes from 25,621 records in 3 datasets.',
  ],
  [{ column: undefined, datasets: ['a', 'b'], records: 2 }, 'Line 15 in report comes from 2 records in a and b.'],
  [{ records: 0, datasets: [] }, 'max_wind_mph = 1048.36 of line 15 in report has no source record.'],
  [{ direction: 'forward', semantics: 'influence' }, 'Line 15 in report had a part in 1 record in weather.csv.'],
  [{ direction: 'forward', records: 0, datasets: [] }, 'Line 15 in report went into nothing that was captured.'],
  [
    { records: 0, datasets: [], coarse: ['weather.csv'] },
    'max_wind_mph = 1048.36 of line 15 in report comes from unknown records of weather.csv.',
  ],
  [
    { direction: 'forward', semantics: 'influence', datasets: ['report'], coarse: ['counts'] },
    'Line 15 in report had a part in 1 record in report, and unknown records of counts.',
  ],
] as const)('the sentence for %o', (part, sentence) => {
  expect(say(part as Partial<SentenceFacts>)).toBe(sentence);
});

test('the example is a predicate over the first row', () => {
  expect(exampleFor({ origin: 'EWR', year: 2013, month: 1 })).toBe("origin = 'EWR' AND month = 1");
  expect(exampleFor({})).toContain('DuckDB');
});

const command = {
  dataset: '/out/report',
  file: 'file:/out/report/part 0.csv',
  row: 13,
  semantics: 'witness',
  direction: 'backward',
} as const;

test('the command names the record and its version', () => {
  expect(traceCommand({ ...command, version: 'run:0198a7c2', column: 'max_wind_mph', to: '/raw/weather.csv' })).toBe(
    'headwater trace /out/report --row "/out/report/part 0.csv:13" --as-of 0198a7c2 --column max_wind_mph --semantics witness --to /raw/weather.csv',
  );
});

test('without a version the command asks about the current one', () => {
  expect(traceCommand({ ...command, direction: 'forward' })).toBe(
    'headwater trace /out/report --row "/out/report/part 0.csv:13" --semantics witness --forward',
  );
});

test('what a shell would read as its own is quoted', () => {
  expect(traceCommand({ ...command, column: `a = '$HOME' AND "b c" = 1` })).toContain(
    `--column 'a = '\\''$HOME'\\'' AND "b c" = 1'`,
  );
});

test('a number read from text is the same datum as the number made of it', () => {
  expect(sameValue('1048.36058', 1048.36058)).toBe(true);
  expect(sameValue('12', '12.0')).toBe(true);
  expect(sameValue('EWR', 'JFK')).toBe(false);
  expect(sameValue(null, 0)).toBe(false);
  expect(sameValue('', 0)).toBe(false);
  expect(sameValue(null, undefined)).toBe(true);
});

test('values are shown with every digit', () => {
  expect([1048.36058, 336776, 1e-9, null, true, { a: [1] }, ''].map(formatValue)).toEqual([
    '1048.36058',
    '336776',
    '1e-9',
    'null',
    'true',
    '{"a":[1]}',
    '',
  ]);
});

test.each(['int', 'BIGINT', 'decimal(10,2)', 'DOUBLE', 'UINTEGER'])('%s is a type of numbers', (type) => {
  expect(isNumericType(type)).toBe(true);
});

test.each(['interval', 'varchar', 'timestamp', 'struct<a:int>'])('%s is none', (type) => {
  expect(isNumericType(type)).toBe(false);
});

test('a head pressed three times leaves the rows as they were', () => {
  const once = nextOrder(undefined, 'c');
  const twice = nextOrder(once, 'c');
  expect([once, twice, nextOrder(twice, 'c')]).toEqual([
    { column: 'c', descending: false },
    { column: 'c', descending: true },
    undefined,
  ]);
});

const hop = (run: string, inputs: string[], output: string, grain: 'RECORD' | 'DATASET' = 'RECORD') => ({
  run,
  inputs,
  output,
  grain,
});

test('the version of a record is the run that wrote it', () => {
  expect(versionOfRecord([hop('run:2', ['b'], 'c'), hop('run:1', ['a'], 'b')], 'b')).toBe('run:1');
});

test('the version of a record that no run wrote is a run that read it', () => {
  expect(versionOfRecord([hop('run:2', ['b'], 'c'), hop('run:1', ['a'], 'b')], 'a')).toBe('run:1');
});

test('the version is unknown if no run or several runs can have written the record', () => {
  expect(versionOfRecord([], 'a')).toBeUndefined();
  expect(versionOfRecord([hop('run:1', ['a'], 'b', 'DATASET')], 'b')).toBeUndefined();
  expect(versionOfRecord([hop('run:2', ['b'], 'b'), hop('run:1', ['a'], 'b')], 'b')).toBeUndefined();
  expect(versionOfRecord([hop('run:1', ['a'], 'b', 'DATASET'), hop('run:2', ['b'], 'c')], 'b')).toBeUndefined();
});
