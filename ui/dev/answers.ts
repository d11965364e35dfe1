/** Traces of the development world, worked out from its file of weather alone: enough to see every state of the page. */
import { DATASETS, type WorldDataset } from './datasets.ts';
import { JOBS } from './world.ts';

export interface TraceArguments {
  dataset: string;
  rows: { file: string; row: number }[];
  column?: string | null;
  semantics: 'WITNESS' | 'INFLUENCE';
  forward: boolean;
  to?: string | null;
  asOf?: string | null;
}

const REPORT = 'dataset:file:/demo/out/report';
const WEATHER = 'dataset:file:/demo/raw/weather.csv';
const FLIGHTS = 'dataset:file:/demo/raw/flights.csv';

export function find(id: string): WorldDataset {
  const dataset = DATASETS.find((data) => data.id === id || data.name === id);
  if (!dataset) throw new Error(`There is no dataset ${id}.`);
  return dataset;
}

export function recordOf(dataset: WorldDataset, row: number, grain = 'RECORD') {
  const values = dataset.rows[row] ?? [];
  return {
    dataset: dataset.id,
    datasetName: dataset.name,
    file: dataset.file,
    row,
    line: dataset.text ? row + 2 : null,
    grain,
    values: Object.fromEntries(dataset.columns.map((column, index) => [column.name, values[index] ?? null])),
  };
}

function whole(dataset: WorldDataset) {
  return {
    dataset: dataset.id,
    datasetName: dataset.name,
    file: null,
    row: null,
    line: null,
    grain: 'DATASET',
    values: {},
  };
}

function hopsBetween(names: string[]) {
  return names.map((name) => {
    const job = JOBS.find((candidate) => candidate.output === `/demo/out/${name}`);
    if (!job) throw new Error(`There is no job ${name}.`);
    return {
      job: job.id,
      run: job.run,
      output: job.outputId,
      inputs: job.inputIds,
      operations: job.operations,
      expressions: job.expressions ?? [],
      records: 1,
      grain: job.coarse ? 'DATASET' : 'RECORD',
      recaptured: null as string | null,
    };
  });
}

/** Records of the weather that stand behind a row of the report, or of anything else that came from one. */
function weatherBehind({ dataset, rows, semantics }: TraceArguments): number[] {
  const weather = find(WEATHER);
  if (dataset !== REPORT) return rows.map((row) => row.row);
  const month = find(REPORT).rows[rows[0]?.row ?? 0] ?? [];
  const group = weather.rows.flatMap((row, index) => (row[0] === month[0] && row[2] === month[2] ? [index] : []));
  if (semantics === 'INFLUENCE') return group;
  const largest = Math.max(...group.map((index) => Number(weather.rows[index]?.[6])));
  return group.filter((index) => weather.rows[index]?.[6] === largest).slice(0, 1);
}

function backward(asked: TraceArguments) {
  if (asked.dataset.endsWith('station_counts'))
    return { records: [whole(find(WEATHER))], hops: hopsBetween(['station_counts']), exact: false };
  const weather = weatherBehind(asked).map((row) => recordOf(find(WEATHER), row));
  if (asked.dataset !== REPORT)
    return { records: weather, hops: hopsBetween(['hourly_weather', 'clean/weather']), exact: true };
  const windOnly = asked.semantics === 'WITNESS' || asked.to === WEATHER;
  const hops = hopsBetween(['report', 'hourly_weather', 'clean/weather']);
  if (windOnly) {
    const trimmed = hops.map((hop) => ({ ...hop, inputs: hop.inputs.filter((input) => input.includes('weather')) }));
    return { records: weather, hops: trimmed, exact: true };
  }
  const flights = find(FLIGHTS).rows.flatMap((row, index) =>
    row[7] === 'EWR' ? [recordOf(find(FLIGHTS), index)] : [],
  );
  return {
    records: [...flights, ...weather],
    hops: [...hops, ...hopsBetween(['enriched', 'clean/flights'])],
    exact: true,
  };
}

function forwards() {
  const report = recordOf(find(REPORT), 1);
  const hops = hopsBetween(['clean/weather', 'hourly_weather', 'report', 'station_counts']);
  return { records: [report, whole(find('/demo/out/station_counts'))], hops, exact: false };
}

export function trace(asked: TraceArguments) {
  const { records, hops, exact } = asked.forward ? forwards() : backward(asked);
  const kept = asked.to
    ? records.filter((record) => record.dataset === asked.to || record.datasetName === asked.to)
    : records;
  const selected = asked.rows.map((row) => recordOf(find(asked.dataset), row.row));
  return {
    semantics: asked.semantics,
    exact,
    records: kept.slice(0, 1000),
    total: kept.length,
    selected,
    path: hops,
    recapturable: [] as string[],
    asOf: asked.asOf ? { at: '2026-11-28T14:10:01Z', runs: [asked.asOf], isRead: false } : null,
    elapsedMs: 41.7,
    incomplete: exact
      ? []
      : [
          {
            what: 'station_counts',
            reason: 'It is an RDD program, captured at the grain of datasets only.',
            effect: 'superset',
          },
        ],
  };
}
