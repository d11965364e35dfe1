import { sameValue } from './values';

type Values = Record<string, unknown>;

/**
 * A short DuckDB predicate that selects a row and none of the others, or undefined if another row is equal.
 * Columns with fractions come last, because the text of a fraction is not always its value.
 */
export function predicateFor(row: Values, others: readonly Values[]): string | undefined {
  const columns = Object.keys(row).sort((a, b) => Number(isFraction(row[a])) - Number(isFraction(row[b])));
  const selection: string[] = [];
  let rivals = others;
  for (const column of columns) {
    const equal = rivals.filter((rival) => sameValue(rival[column], row[column]));
    if (equal.length === rivals.length && selection.length + equal.length > 0) continue;
    selection.push(column);
    rivals = equal;
    if (rivals.length === 0) break;
  }
  return rivals.length === 0 && selection.length > 0
    ? selection.map((column) => condition(column, row[column])).join(' AND ')
    : undefined;
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

/** An example of a predicate, from the first text and the first integer of a row. */
export function exampleFor(row: Values): string {
  const names = Object.keys(row);
  const selection = [
    names.find((name) => typeof row[name] === 'string'),
    names.find((name) => Number.isInteger(row[name]) && name !== 'year'),
  ];
  const parts = selection.flatMap((name) => (name === undefined ? [] : [condition(name, row[name])]));
  return parts.join(' AND ') || 'a DuckDB predicate over the columns';
}
