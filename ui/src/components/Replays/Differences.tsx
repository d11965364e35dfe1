import type { ReactNode } from 'react';
import { titleOf } from '../../graph/names';
import { formatValue, valuesOf } from '../../trace/values';
import { Table } from '../Table/Table';

export interface Difference {
  dataset: string;
  columns: readonly string[];
  /** Values by column, or null if there is no such row. */
  before: unknown;
  after: unknown;
}

/** Changed rows, each with its values before and after side by side. Changed columns come first. */
export function Differences({ differences }: { differences: readonly Difference[] }) {
  return differences.map((difference, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id
    <DifferenceTable key={index} difference={difference} />
  ));
}

function DifferenceTable({ difference: { dataset, columns, before, after } }: { difference: Difference }) {
  const [old, current] = [valuesOf(before), valuesOf(after)];
  const changed = new Set(columns);
  const all = [...new Set([...Object.keys(old), ...Object.keys(current)])];
  const name = titleOf(dataset);
  const cell = (row: Record<string, unknown>, column: string): ReactNode =>
    column in row ? <span>{formatValue(row[column])}</span> : '–';
  return (
    <Table
      label={`A row of ${name}, before and after`}
      titles={[name, before === null ? 'before (no row)' : 'before', after === null ? 'after (no row)' : 'after']}
      rows={[...all.filter((column) => changed.has(column)), ...all.filter((column) => !changed.has(column))].map(
        (column) => ({
          key: column,
          cells: [column, cell(old, column), cell(current, column)],
          isMarked: changed.has(column),
        }),
      )}
    />
  );
}
