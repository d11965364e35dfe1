export interface SortOrder {
  /** Index of the column. */
  column: number;
  descending: boolean;
}

/** The next order when a column's head is pressed: ascending, descending, as it was. */
export function nextOrder(order: SortOrder | undefined, column: number): SortOrder | undefined {
  if (order?.column !== column) return { column, descending: false };
  return order.descending ? undefined : { column, descending: true };
}

/** Indexes of rows in an order. Nulls stand last either way; equal rows keep their places. */
export function sortedIndexes(rows: readonly (readonly unknown[])[], order: SortOrder | undefined): number[] {
  const indexes = rows.map((_, index) => index);
  if (!order) return indexes;
  const sign = order.descending ? -1 : 1;
  return indexes.sort((a, b) => compare(rows[a]?.[order.column], rows[b]?.[order.column], sign));
}

function compare(a: unknown, b: unknown, sign: number): number {
  const [noA, noB] = [a === null || a === undefined, b === null || b === undefined];
  if (noA || noB) return Number(noA) - Number(noB);
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
  return sign * String(a).localeCompare(String(b), 'en', { numeric: true });
}
