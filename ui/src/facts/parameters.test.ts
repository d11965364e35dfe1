import { parametersOf, settingsOf } from './parameters';

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
