/** An order of rows by the values of a column. */
export interface SortOrder {
  column: string;
  descending: boolean;
}

/** The next order when a column's head is pressed: ascending, descending, as it was. */
export function nextOrder(order: SortOrder | undefined, column: string): SortOrder | undefined {
  if (order?.column !== column) return { column, descending: false };
  return order.descending ? undefined : { column, descending: true };
}
