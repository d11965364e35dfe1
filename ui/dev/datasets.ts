/** The datasets of the small world, with their rows. February at three airports was made up; one hour of it went wrong. */

export interface WorldDataset {
  id: string;
  name: string;
  columns: { name: string; type: string }[];
  file: string;
  /** Whether its records have lines. */
  text: boolean;
  rows: unknown[][];
}

export const RAW = '/demo/raw';
export const OUT = '/demo/out';

const WEATHER = [
  'origin string',
  'year int',
  'month int',
  'day int',
  'hour int',
  'temp double',
  'wind_speed double',
  'precip double',
  'visib double',
];
const HOURLY = [
  'origin string',
  'year int',
  'month int',
  'day int',
  'hour int',
  'temp double',
  'wind_speed double',
  'day_wind double',
  'precip double',
  'visib double',
];
const FLIGHTS = [
  'year int',
  'month int',
  'day int',
  'dep_delay int',
  'carrier string',
  'flight int',
  'tailnum string',
  'origin string',
  'dest string',
];
const ENRICHED = [...FLIGHTS, 'airline string', 'manufacturer string', 'destination string', 'punctuality string'];
const REPORT = [
  'origin string',
  'year int',
  'month int',
  'hours bigint',
  'max_wind_mph double',
  'mean_wind_mph double',
  'rain_in double',
  'min_visibility_mi double',
  'flights bigint',
  'very_late bigint',
  'mean_delay_min double',
  'max_delay_min int',
];

/** Always the same numbers between 0 and 1. */
function* noise(): Generator<number, never> {
  let state = 20130212;
  while (true) {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    yield state / 2 ** 32;
  }
}

/** February at the three airports, an hour a row; row 1009 of the file is the hour that went wrong. */
function weather(): unknown[][] {
  const source = noise();
  const next = () => source.next().value;
  const rows: unknown[][] = [];
  for (const [origin, hours] of [
    ['JFK', 400],
    ['EWR', 669],
    ['LGA', 672],
  ] as const) {
    for (let hour = 0; hour < hours; hour++) {
      const wind = Math.round((4 + next() * 22) * 1e5) / 1e5;
      rows.push([
        origin,
        2013,
        2,
        1 + Math.floor(hour / 24),
        hour % 24,
        Math.round((24 + next() * 22) * 100) / 100,
        wind,
        next() > 0.9 ? Math.round(next() * 30) / 100 : 0,
        next() > 0.85 ? Math.round(next() * 9) : 10,
      ]);
    }
  }
  const wrong = rows[1009];
  if (wrong) [wrong[3], wrong[4], wrong[6]] = [12, 3, 1048.36058];
  return rows;
}

function flights(): unknown[][] {
  const source = noise();
  const next = () => source.next().value;
  return Array.from({ length: 1200 }, (_, index) => [
    2013,
    2,
    1 + Math.floor(index / 43),
    Math.round(next() * 90 - 15),
    ['UA', 'B6', 'DL', 'EV'][index % 4],
    1000 + index,
    `N${10000 + index}`,
    ['EWR', 'JFK', 'LGA'][index % 3],
    ['IAH', 'MIA', 'BOS', 'ATL'][index % 4],
  ]);
}

function report(): unknown[][] {
  const source = noise();
  const next = () => source.next().value;
  return ['EWR', 'JFK', 'LGA'].flatMap((origin) =>
    Array.from({ length: 12 }, (_, month) => [
      origin,
      2013,
      month + 1,
      669 + month,
      origin === 'EWR' && month === 1 ? 1048.36058 : Math.round((24 + next() * 14) * 1e5) / 1e5,
      Math.round((8 + next() * 4) * 100) / 100,
      Math.round(next() * 500) / 100,
      0,
      9000 + Math.round(next() * 900),
      300 + Math.round(next() * 500),
      Math.round((8 + next() * 18) * 100) / 100,
      300 + Math.round(next() * 800),
    ]),
  );
}

function dataset(
  path: string,
  columns: string[],
  rows: unknown[][],
  file = `${path}/part-00000-5b1c.snappy.parquet`,
): WorldDataset {
  return {
    id: `dataset:file:${path}`,
    name: path,
    columns: columns.map((column) => ({ name: column.split(' ')[0] ?? '', type: column.split(' ')[1] ?? '' })),
    file: `file:${file}`,
    text: file.endsWith('.csv') || file.endsWith('.txt'),
    rows,
  };
}

const theWeather = weather();
const theFlights = flights();
const raw = (name: string, columns: string[], rows: unknown[][]) =>
  dataset(`${RAW}/${name}.csv`, columns, rows, `${RAW}/${name}.csv`);
const names = [
  ['AA', 'American Airlines Inc.'],
  ['B6', 'JetBlue Airways'],
  ['DL', 'Delta Air Lines Inc.'],
  ['UA', 'United Air Lines Inc.'],
];
const airports = [
  ['EWR', 'Newark Liberty Intl'],
  ['JFK', 'John F Kennedy Intl'],
  ['LGA', 'La Guardia'],
];
const planes = Array.from({ length: 40 }, (_, index) => [
  `N${10000 + index}`,
  1990 + (index % 20),
  'BOEING',
  '737-824',
  149,
]);
const PLANES = ['tailnum string', 'year int', 'manufacturer string', 'model string', 'seats int'];

export const DATASETS: WorldDataset[] = [
  raw('weather', WEATHER, theWeather),
  raw('flights', FLIGHTS, theFlights),
  raw('planes', PLANES, planes),
  raw('airlines', ['carrier string', 'name string'], names),
  raw('airports', ['faa string', 'name string'], airports),
  dataset(`${OUT}/clean/weather`, WEATHER, theWeather),
  dataset(`${OUT}/clean/flights`, FLIGHTS, theFlights),
  dataset(`${OUT}/clean/planes`, PLANES, planes),
  dataset(`${OUT}/clean/airlines`, ['carrier string', 'name string'], names),
  dataset(`${OUT}/clean/airports`, ['faa string', 'name string'], airports),
  dataset(
    `${OUT}/enriched`,
    ENRICHED,
    theFlights.map((row) => [...row, 'United Air Lines Inc.', 'BOEING', 'Logan Intl', 'on time']),
  ),
  dataset(
    `${OUT}/hourly_weather`,
    HOURLY,
    theWeather.map((row) => [...row.slice(0, 7), 11.4, ...row.slice(7)]),
  ),
  dataset(`${OUT}/report`, REPORT, report(), `${OUT}/report/part-00000-c41d.csv`),
  dataset(
    `${OUT}/station_counts`,
    ['value string'],
    [['EWR\t669'], ['JFK\t400'], ['LGA\t672']],
    `${OUT}/station_counts/part-00000.txt`,
  ),
];
