/** Display and comparison of values of records, which arrive as JSON. */

export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value === 'boolean') return String(value);
  return JSON.stringify(value);
}

/** Numbers keep all digits, without grouping, so that a copied number is valid in a predicate. */
function formatNumber(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1e-6 ? String(value) : value.toExponential();
}

/** Whether DuckDB or Spark uses a type for numbers. */
export function isNumericType(type: string): boolean {
  return /^(u?(tiny|small|big|huge)?int|u?integer|long|short|byte|float|double|real|decimal|numeric)\b/i.test(
    type.trim(),
  );
}

/** Whether two values are equal. A number also equals its text. */
export function sameValue(left: unknown, right: unknown): boolean {
  if (isMissing(left) || isMissing(right)) return isMissing(left) && isMissing(right);
  const [a, b] = [asNumber(left), asNumber(right)];
  if (a !== undefined && b !== undefined)
    return a === b || Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
  return formatValue(left) === formatValue(right);
}

function isMissing(value: unknown): boolean {
  return value === null || value === undefined;
}

function asNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}

/** The values by column name, or an empty object for other JSON. */
export function valuesOf(values: unknown): Record<string, unknown> {
  return typeof values === 'object' && values !== null && !Array.isArray(values)
    ? (values as Record<string, unknown>)
    : {};
}

/** The values of a row in the order of the columns. */
export function listOf(values: unknown): readonly unknown[] {
  return Array.isArray(values) ? (values as unknown[]) : [];
}

/** The order of two values of a column: numbers by size, other values by their text. Missing values come last in both directions. */
export function compareValues(left: unknown, right: unknown, descending: boolean): number {
  if (isMissing(left) || isMissing(right)) return Number(isMissing(left)) - Number(isMissing(right));
  const [a, b] = [asNumber(left), asNumber(right)];
  const order = a !== undefined && b !== undefined ? a - b : formatValue(left).localeCompare(formatValue(right), 'en');
  return descending ? -order : order;
}
