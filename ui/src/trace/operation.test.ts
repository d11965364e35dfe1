import { wordsOfOperation, wordsOfStep } from './operation';

const say = (text: string) => {
  const { verb, detail } = wordsOfOperation(text);
  return `${verb} ${detail}`.trim();
};

test.each([
  ['Filter isnotnull(origin#0)', 'Filter origin IS NOT NULL'],
  [
    'Filter ((isnotnull(origin#26) AND isnotnull(year#3)) AND (month#4 = 2))',
    'Filter origin IS NOT NULL AND year IS NOT NULL AND month = 2',
  ],
  ['Project [origin#0, year#1, wind_speed#9]', 'Project to 3 columns'],
  [
    'Project [origin#0, (wind_speed#9 - day_wind#16) AS above_day_wind#18]',
    'Project (wind_speed - day_wind) AS above_day_wind',
  ],
  [
    'Aggregate [origin#63, year#64], [origin#63, year#64, count(1) AS hours#76L, round(avg(wind_speed#69), 2) AS mean_wind_mph#78]',
    'Aggregate count(1) AS hours, round(avg(wind_speed), 2) AS mean_wind_mph by origin, year',
  ],
  ['Aggregate [sum(x#1) AS total#2]', 'Aggregate by sum(x) AS total'],
  [
    'Join LeftOuter, (((origin#63 = origin#26) AND (year#64 = year#3)) AND (month#65 = month#4))',
    'Join left outer on origin = origin AND year = year AND month = month',
  ],
  ['Filter ((a#1 = 1) AND ((b#2 = 2) OR (c#3 = 3)))', 'Filter a = 1 AND ((b = 2) OR (c = 3))'],
  ['Filter NOT ((a#1 = 1) AND (b#2 = 2))', 'Filter NOT ((a = 1) AND (b = 2))'],
  ['Join Cross', 'Join cross'],
  ['Sort [origin#63 ASC NULLS FIRST, wind#64 DESC NULLS LAST], true', 'Sort by origin, wind descending'],
  [
    'Window [lag(pressure#12, -1, null) windowspecdefinition(origin#0, hour#4 ASC NULLS FIRST, specifiedwindowframe(RowFrame, -1, -1)) AS _we0#20], [origin#0, day#3], [hour#4 ASC NULLS FIRST]',
    'Window lag(pressure, -1, null) AS _we0 over origin, day in the order of hour',
  ],
  [
    'Window [avg(wind_speed#9) windowspecdefinition(origin#0, specifiedwindowframe(RowFrame, unboundedpreceding$(), unboundedfollowing$())) AS day_wind#16], [origin#0]',
    'Window avg(wind_speed) AS day_wind over origin',
  ],
  ['BatchEvalPython [punctuality(dep_delay#5)#47], [pythonUDF0#50]', 'Python UDF punctuality(dep_delay)'],
  ['Repartition 1, false', 'Repartition'],
  ['Generate explode(words#3), [0], false, [word#7]', 'Generate explode(words), [0], false, [word]'],
  ['Deduplicate', 'Deduplicate'],
])('%s', (text, words) => {
  expect(say(text)).toBe(words);
});

test('a text that Spark has cut is read to its end', () => {
  expect(say('Project [dest#13, empty2null(origin#12) AS origin#49, built#33, ... 2 more fields')).toBe(
    'Project empty2null(origin) AS origin',
  );
  expect(say('Filter (a#1 = ')).toBe('Filter (a =');
});

test('the words of a step contain its columns and its conditions', () => {
  const made = [{ column: 'worst', expression: 'max(wind)' }];
  expect(wordsOfStep({ operator: 'Aggregate', made, by: ['origin', 'month'] }).detail).toBe(
    'worst = max(wind) by origin, month',
  );
  expect(wordsOfStep({ operator: 'Filter', made: [], by: ['(origin IS NOT NULL)'] }).detail).toBe('origin IS NOT NULL');
  const on = '(((a = a) AND (b = b)) AND (c = c))';
  expect(wordsOfStep({ operator: 'Join', made: [], by: [on] }).detail).toBe('a = a AND b = b AND c = c');
  expect(wordsOfStep({ operator: 'Project', made, by: [] }).detail).toBe('worst = max(wind)');
});
