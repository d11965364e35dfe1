import { codeOf, failureOf, parametersOf, settingsOf, sourceCodeOf } from './execution';

test('only a web address of source code becomes a link', () => {
  const facet = { url: 'https://git.example.com/etl/a.sql', path: 'a.sql', version: '4f2a91c' };
  expect(sourceCodeOf({ sourceCodeLocation: facet })).toEqual(facet);
  const hostile = { sourceCodeLocation: { url: 'javascript:alert(1)' } };
  expect(sourceCodeOf(hostile)).toEqual({ url: undefined, path: 'javascript:alert(1)', version: undefined });
  expect(sourceCodeOf({ sourceCodeLocation: 'x' })).toBeUndefined();
});

test('the code of a job is its statement, or its program', () => {
  expect(codeOf({ sql: { query: 'select 1' } })).toEqual({ language: 'sql', code: 'select 1' });
  expect(codeOf({}, { sql: { query: 'select 2' } })?.code).toBe('select 2');
  expect(codeOf({ sourceCode: { language: 'PYTHON', sourceCode: 'print(1)' } })?.language).toBe('python');
  expect(codeOf({ sql: { query: 7 } })).toBeUndefined();
});

test('a failure has the stack trace of its facet, or the message alone', () => {
  expect(failureOf({ errorMessage: { message: 'no', stackTrace: 'at x' } })).toEqual({ message: 'no', stack: 'at x' });
  expect(failureOf({ error: 'no' })).toEqual({ message: 'no', stack: undefined });
  expect(failureOf({})).toBeUndefined();
});

test('parameters and settings are those that producers stated', () => {
  const run = {
    processing_engine: { name: 'spark', version: '4.1.4' },
    headwater_invocation: { argv: ['clean.py', 'raw', 7] },
    spark_properties: { properties: { 'spark.master': 'local' } },
    environmentVariables: { environmentVariables: [{ name: 'LANG', value: 'C' }] },
  };
  expect(parametersOf(run)).toEqual([
    { name: 'Engine', value: 'spark 4.1.4' },
    { name: 'Command', value: 'clean.py raw' },
  ]);
  expect(settingsOf(run).map(({ name }) => name)).toEqual(['spark.master', 'LANG']);
  expect(parametersOf({ processing_engine: null })).toEqual([]);
});
