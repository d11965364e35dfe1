import { HEAD, nextCell } from './keys';
import { layoutOf } from './widths';

const size = { rows: 30, columns: 4 };

test.each([
  ['ArrowDown', { row: 1, column: 0 }],
  ['ArrowUp', { row: 0, column: 0 }],
  ['ArrowLeft', { row: 0, column: HEAD }],
  ['End', { row: 0, column: 3 }],
  ['PageDown', { row: 12, column: 0 }],
])('%s leads from the first cell to %o', (key, cell) => {
  expect(nextCell(key, { row: 0, column: 0 }, size)).toEqual(cell);
});

test('no key leaves the grid', () => {
  expect(nextCell('PageDown', { row: 25, column: 3 }, size)).toEqual({ row: 29, column: 3 });
  expect(nextCell('ArrowRight', { row: 29, column: 3 }, size)).toEqual({ row: 29, column: 3 });
});

test('a key that moves nothing is left to others', () => {
  expect(nextCell('Enter', { row: 0, column: 0 }, size)).toBeUndefined();
});

test('columns are as wide as what they hold, within bounds', () => {
  const columns = [
    { name: 'a', type: 'int' },
    { name: 'text', type: 'string' },
  ];
  const rows = [{ file: 'f', row: 0, line: null, values: [1, 'x'.repeat(500)] }];
  expect(layoutOf({ columns, rows, total: 1 })).toEqual({
    template: '72px minmax(64px, 64fr) minmax(280px, 280fr)',
    width: 416,
  });
});
