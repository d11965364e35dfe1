import { baseName, gapTitle, jobTitle, jobTitleOf, shortNames, titleOf } from './names';

test('a name is as short as it can be told from the others', () => {
  const short = shortNames([
    ['1', '/raw/weather.csv'],
    ['2', '/out/clean/weather'],
    ['3', '/out/hourly/weather'],
    ['4', '/out/report'],
  ]);
  expect(Object.fromEntries(short)).toEqual({ 1: 'weather.csv', 2: 'clean/weather', 3: 'hourly/weather', 4: 'report' });
});

test('one path that ends another one stays whole', () => {
  expect(
    shortNames([
      ['1', 'weather'],
      ['2', '/out/weather'],
    ]).get('1'),
  ).toBe('weather');
});

test('the same name in two namespaces is shown whole, twice', () => {
  const short = shortNames([
    ['1', '/data/x'],
    ['2', '/data/x'],
  ]);
  expect([...short.values()]).toEqual(['data/x', 'data/x']);
});

test('a base name survives trailing slashes and roots', () => {
  expect(baseName('/a/b/')).toBe('b');
  expect(baseName('/')).toBe('/');
});

test('a job of Spark is called by its application; others keep their name', () => {
  expect(jobTitle('clean.execute_insert_into_hadoop_fs_relation_command.weather')).toBe('clean');
  expect(jobTitle('word.counts.save_as_text_file.counts')).toBe('word.counts');
  expect(jobTitle('dbt.orders')).toBe('dbt.orders');
  expect(jobTitle('daily.load.orders')).toBe('daily.load.orders');
});

test('a task of another orchestrator with three parts is not cut to its first', () => {
  expect(jobTitle('sales.extract.customers')).not.toBe(jobTitle('sales.load.customers'));
});

test('rows that a program made itself have no name to shorten', () => {
  const short = shortNames([
    ['dataset:local:c1/0', 'c1/0'],
    ['dataset:file:/data/0', '/data/0'],
  ]);
  expect([...short.values()]).toEqual(['the program’s own rows', 'data/0']);
});

test('what is missing is called as people call it', () => {
  expect(gapTitle('job:default:month_end.execute_insert_into_hadoop_fs_relation_command.rdd')).toBe('month_end');
  expect(gapTitle('local:c1/0/0')).toBe('the program’s own rows');
  expect(gapTitle('/raw/weather.csv')).toBe('/raw/weather.csv');
});

test('a job is called alike by its name and by its id', () => {
  const name = 'clean.execute_insert_into_hadoop_fs_relation_command.weather';
  expect([name, `job:default:${name}`, 'pipeline:spark:clean'].map(jobTitleOf)).toEqual(['clean', 'clean', 'clean']);
});

test('thousands of names are shortened at once', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => [`${index}`, `/lake/domain/mart/table_${index}`] as const);
  const before = process.cpuUsage();
  expect(shortNames(names).get('7')).toBe('table_7');
  const { user } = process.cpuUsage(before); // processor time, because other programs may use the machine
  expect(user / 1e6).toBeLessThan(20); // compared in pairs, they took minutes
});

test('the title of a dataset is the end of its path, and the rows of a program have words', () => {
  expect(titleOf('dataset:file:/demo/out/report')).toBe('report');
  expect(titleOf('dataset:local:7fcf/0')).toBe('the program’s own rows');
});

test('a name cannot look like another by turning its letters around', () => {
  const name = 'odd/report \u202egpj.exe/target';
  expect(baseName(name)).toBe('target');
  expect(
    shortNames([
      ['a', name],
      ['b', 'other/target'],
    ]).get('a'),
  ).toBe('report \uFFFDgpj.exe/target');
  expect(jobTitle('load \u2067gpj.exe')).toBe('load \uFFFDgpj.exe');
});
