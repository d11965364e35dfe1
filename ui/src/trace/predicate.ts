import { sameValue } from './values';

type Values = Record<string, unknown>;

/**
 * A DuckDB predicate that selects a row, as short as can be known from the other rows at hand: columns are added from the left
 * until none of them agrees. Floating-point columns come last, since comparing them with text is where predicates fail.
 */
export function predicateFor(row: Values, others: readonly Values[]): string {
  const columns = [...Object.keys(row)].sort((a, b) => Number(isFraction(row[a])) - Number(isFraction(row[b])));
  const chosen: string[] = [];
  let rivals = others;
  for (const column of columns) {
    const left = rivals.filter((rival) => sameValue(rival[column], row[column]));
    if (chosen.length > 0 && left.length === rivals.length && rivals.length > 0) continue;
    chosen.push(column);
    rivals = left;
    if (others.length > 0 && rivals.length === 0) break;
  }
  return chosen.map((column) => condition(column, row[column])).join(' AND ');
}

function condition(column: string, value: unknown): string {
  const name = /^[a-z_][a-z0-9_]*$/.test(column) ? column : `"${column.replaceAll('"', '""')}"`;
  if (value === null || value === undefined) return `${name} IS NULL`;
  if (typeof value === 'number' || typeof value === 'boolean') return `${name} = ${value}`;
  return `${name} = '${String(value).replaceAll("'", "''")}'`;
}

function isFraction(value: unknown): boolean {
  return typeof value === 'number' && !Number.isInteger(value);
}

/** A predicate that could be written over some columns, as an example. */
export function exampleFor(columns: readonly { name: string; type: string }[]): string {
  const words = columns.find((column) => /char|string|text/i.test(column.type));
  const numbers = columns.find((column) => /int|long/i.test(column.type) && column.name !== 'year');
  const parts = [words && `${words.name} LIKE 'A%'`, numbers && `${numbers.name} = 2`].filter(Boolean);
  return parts.join(' AND ') || 'a DuckDB predicate over the columns';
}
