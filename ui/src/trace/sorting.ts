/** An order of rows by the values of a column. */
export interface SortOrder {
  column: string;
  descending: boolean;
}

/** The order after a click on the head of a column: ascending, descending, unsorted. */
export function nextOrder(order: SortOrder | undefined, column: string): SortOrder | undefined {
  if (order?.column !== column) return { column, descending: false };
  return order.descending ? undefined : { column, descending: true };
}

/** The order of a column for screen readers. */
export function directionOf(order: SortOrder | undefined, column: string): 'ascending' | 'descending' | 'none' {
  if (order?.column !== column) return 'none';
  return order.descending ? 'descending' : 'ascending';
}
