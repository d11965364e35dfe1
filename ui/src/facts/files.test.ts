import { safeName, tableAsCsv } from './files';

test('cells with commas, quotes and lines are quoted', () => {
  expect(
    tableAsCsv(
      ['a', 'b'],
      [
        ['x,y', 'say "no"'],
        ['1\n2', null],
        [3, true],
      ],
    ),
  ).toBe('a,b\r\n"x,y","say ""no"""\r\n"1\n2",\r\n3,true\r\n');
});

test.each(['=cmd()', '+1', '-1', '@x', '\t=x'])('a spreadsheet does not run %j', (text) => {
  expect(tableAsCsv(['a'], [[text]])).toContain(`'${text}`);
});

test('a number stays a number', () => {
  expect(tableAsCsv(['a'], [[-1.5]])).toBe('a\r\n-1.5\r\n');
});

test('a file name has no character that a file system refuses', () => {
  expect(safeName('impact of s3://a/b?.csv')).toBe('impact of s3___a_b_.csv');
  expect(safeName(`${'x'.repeat(300)}.csv`)).toMatch(/^x{100}….{12}\.csv$/);
});
