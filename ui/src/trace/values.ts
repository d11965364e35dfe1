/** How values of records are shown and compared. They arrive as JSON, whatever wrote them. */

export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value === 'boolean') return String(value);
  return JSON.stringify(value);
}

/** Numbers keep every digit and gain none: no grouping, so that what is copied can be pasted into a predicate. */
function formatNumber(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1e-6 ? String(value) : value.toExponential();
}

/** Whether a type is one of numbers, whose values are aligned to the right. `type` is DuckDB's or Spark's name of it. */
export function isNumericType(type: string): boolean {
  return /^(u?(tiny|small|big|huge)?int|u?integer|long|short|byte|float|double|real|decimal|numeric)\b/i.test(
    type.trim(),
  );
}

/** Whether two values are the same datum: a number read from text equals the number that was made of it. */
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

/** An object of column names and values; anything else has none. */
export function valuesOf(values: unknown): Record<string, unknown> {
  return typeof values === 'object' && values !== null && !Array.isArray(values)
    ? (values as Record<string, unknown>)
    : {};
}

/** The values of a row page's row, in the order of its columns. */
export function listOf(values: unknown): readonly unknown[] {
  return Array.isArray(values) ? (values as unknown[]) : [];
}
