type Values = Record<string, unknown>;

export function conditionOn(column: string, value: unknown): string {
  const name = /^[a-z_][a-z0-9_]*$/.test(column) ? column : `"${column.replaceAll('"', '""')}"`;
  if (value === null || value === undefined) return `${name} IS NULL`;
  if (typeof value === 'number' || typeof value === 'boolean') return `${name} = ${value}`;
  return `${name} = '${String(value).replaceAll("'", "''")}'`;
}

/** An example of a predicate, from the first text and the first integer of a row. */
export function exampleFor(row: Values): string {
  const names = Object.keys(row);
  const selection = [
    names.find((name) => typeof row[name] === 'string'),
    names.find((name) => Number.isInteger(row[name]) && name !== 'year'),
  ];
  const parts = selection.flatMap((name) => (name === undefined ? [] : [conditionOn(name, row[name])]));
  return parts.join(' AND ') || 'a DuckDB predicate over the columns';
}
