/** The answer of a trace as a file that somebody else can check. */
import type { TraceQuery, TraceQueryVariables } from '../api/generated/first/graphql';
import { tableAsCsv } from '../facts/files';
import { formatValue, valuesOf } from './values';

type Trace = TraceQuery['trace'];

/** The records of an answer as a table: where each one is, and its values. */
export function recordsAsCsv({ records }: Pick<Trace, 'records'>): string {
  const columns = [...new Set(records.flatMap((record) => Object.keys(valuesOf(record.values))))];
  return tableAsCsv(
    ['dataset', 'grain', 'file', 'row (from 0)', 'line (from 1)', ...columns],
    records.map((record) => {
      const values = valuesOf(record.values);
      return [
        record.dataset,
        record.grain.toLowerCase(),
        record.file,
        record.row,
        record.line,
        ...columns.map((column) => cellOf(values[column])),
      ];
    }),
  );
}

/** The question and the whole answer: records, path, exactness and missing parts. */
export function answerAsJson(question: TraceQueryVariables, trace: Trace, address: string, at: Date): string {
  const { graph: _, ...answer } = trace;
  return `${JSON.stringify({ at: at.toISOString(), address, question, answer }, null, 2)}\n`;
}

/** A list that was cut is no whole evidence, so its file says so. */
export function fileNameOf(title: string, { records, total }: Pick<Trace, 'records' | 'total'>): string {
  return total > records.length ? `${title}, first ${records.length} of ${total}` : title;
}

function cellOf(value: unknown): string | number | boolean | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' || typeof value === 'boolean' ? value : formatValue(value);
}
