import { sameValue } from './values';

type Values = Record<string, unknown>;

/**
 * The shortest DuckDB predicate from the left that selects a row and none of the others; undefined where another row is equal.
 * Columns of fractions come last, since their text is not always their value.
 */
export function predicateFor(row: Values, others: readonly Values[]): string | undefined {
  const columns = Object.keys(row).sort((a, b) => Number(isFraction(row[a])) - Number(isFraction(row[b])));
  const chosen: string[] = [];
  let rivals = others;
  for (const column of columns) {
    const left = rivals.filter((rival) => sameValue(rival[column], row[column]));
    if (left.length === rivals.length && chosen.length + left.length > 0) continue;
    chosen.push(column);
    rivals = left;
    if (rivals.length === 0) break;
  }
  return rivals.length === 0 && chosen.length > 0
    ? chosen.map((column) => condition(column, row[column])).join(' AND ')
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

/** A predicate that selects a row by its first words and whole numbers, as an example. */
export function exampleFor(row: Values): string {
  const names = Object.keys(row);
  const chosen = [
    names.find((name) => typeof row[name] === 'string'),
    names.find((name) => Number.isInteger(row[name]) && name !== 'year'),
  ];
  const parts = chosen.flatMap((name) => (name === undefined ? [] : [condition(name, row[name])]));
  return parts.join(' AND ') || 'a DuckDB predicate over the columns';
}
