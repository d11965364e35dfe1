import { layoutOf } from './widths';

const columns = [{ name: 'c', type: 'INTEGER' }];
const row = (line: number) => ({ file: 'f', row: line - 2, line, values: [1] });
const position = (total: number, lines: number[]) =>
  Number.parseInt(layoutOf({ columns, rows: lines.map(row), total }).template, 10);

test('the column of line numbers has room for the largest', () => {
  expect(position(36, [2, 3])).toBe(72);
  expect(position(336_776, [2, 3])).toBeGreaterThan(6 * 8.2 + 28);
});

test('so it has where few rows of a large file are shown', () => {
  expect(position(1, [12_336_776])).toBeGreaterThan(8 * 8.2 + 28);
});
