import { assertionsOf, hasPassedLast, metricsOf } from './quality';

const at = (day: number) => `2026-02-0${day}T09:00:00Z`;
const result = (day: number, values: unknown) => ({ run: `run:${day}`, at: at(day), values });

test('assertions that failed last come first, and a result without a verdict is left out', () => {
  const checks = [
    {
      id: 'a',
      assertion: 'unique',
      column: 'id',
      results: [result(1, { success: false }), result(2, { success: true })],
    },
    {
      id: 'b',
      assertion: 'not_null',
      column: 'id',
      results: [result(1, { success: true }), result(2, { success: false })],
    },
    { id: 'c', assertion: 'odd', column: null, results: [result(1, { success: 'yes' }), result(2, null)] },
  ];
  const assertions = assertionsOf(checks);
  expect(assertions.map(({ name }) => name)).toEqual(['not_null', 'unique']);
  expect(assertions.map(hasPassedLast)).toEqual([false, true]);
});

test('each number of the metrics is a series, and other values are left out', () => {
  const checks = [
    {
      id: 'm',
      assertion: 'metrics',
      column: 'amount',
      results: [result(1, { nullCount: 3, quantiles: { '0.5': 1 } })],
    },
    {
      id: 'n',
      assertion: 'metrics',
      column: null,
      results: [result(1, { rowCount: 5 }), result(2, { rowCount: '7' }), result(3, { rowCount: 9, own: 1.5 })],
    },
  ];
  expect(metricsOf(checks).map(({ name, column, points }) => [name, column, points.map(({ value }) => value)])).toEqual(
    [
      ['Rows', null, [5, 9]],
      ['own', null, [1.5]],
      ['Nulls', 'amount', [3]],
    ],
  );
});
