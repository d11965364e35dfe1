/** Results of data quality over time: assertions that pass or fail, and metrics, each a series of numbers. */
import type { QualityQuery } from '../api/generated/graphql';
import { number, properties } from './read';

type Check = QualityQuery['quality'][number];

/** The result of an assertion in one run. */
export interface Verdict {
  run: string;
  at: string;
  hasPassed: boolean;
}

export interface Assertion {
  id: string;
  name: string;
  column: string | null;
  /** Oldest first. */
  verdicts: Verdict[];
}

export interface Point {
  run: string;
  at: string;
  value: number;
}

/** One number of a dataset or a column over time. */
export interface Metric {
  id: string;
  name: string;
  column: string | null;
  /** Oldest first. */
  points: Point[];
}

const METRICS = 'metrics';
const WORDS: Record<string, string> = {
  rowCount: 'Rows',
  bytes: 'Bytes',
  fileCount: 'Files',
  nullCount: 'Nulls',
  distinctCount: 'Distinct values',
  count: 'Values',
  sum: 'Sum',
  min: 'Least value',
  max: 'Greatest value',
};

/** The assertions, those that failed last first. */
export function assertionsOf(checks: readonly Check[]): Assertion[] {
  return checks
    .filter(({ assertion }) => assertion !== METRICS)
    .map(({ id, assertion, column, results }) => ({
      id,
      name: assertion,
      column,
      verdicts: results.flatMap(({ run, at, values }) => {
        const { success } = properties(values);
        return typeof success === 'boolean' ? [{ run, at, hasPassed: success }] : [];
      }),
    }))
    .filter(({ verdicts }) => verdicts.length > 0)
    .toSorted((a, b) => Number(hasPassedLast(a)) - Number(hasPassedLast(b)));
}

export function hasPassedLast({ verdicts }: Assertion): boolean {
  return verdicts.at(-1)?.hasPassed ?? true;
}

/** The metrics of the dataset first, then those of its columns. */
export function metricsOf(checks: readonly Check[]): Metric[] {
  return checks
    .filter(({ assertion }) => assertion === METRICS)
    .flatMap(({ id, column, results }) => {
      const names = new Set(results.flatMap(({ values }) => Object.keys(properties(values))));
      return [...names].map((name) => ({
        id: `${id} ${name}`,
        name: WORDS[name] ?? name,
        column,
        points: results.flatMap(({ run, at, values }) => {
          const value = number(properties(values)[name]);
          return value === undefined ? [] : [{ run, at, value }];
        }),
      }));
    })
    .filter(({ points }) => points.length > 0)
    .toSorted((a, b) => (a.column ?? '').localeCompare(b.column ?? ''));
}
