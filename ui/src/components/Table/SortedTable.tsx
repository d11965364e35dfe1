import { type ReactNode, useMemo, useState } from 'react';
import { nextOrder, type SortOrder } from '../../trace/sorting';
import { compareValues } from '../../trace/values';
import { Table } from './Table';

interface SortedTableProps {
  label: string;
  titles: readonly string[];
  /** `values` are compared to sort by a column; a cell shows its value in any form. */
  rows: readonly { key: string; cells: readonly ReactNode[]; values: readonly unknown[]; isMarked?: boolean }[];
}

/** A table that a click on the title of a column sorts. Missing values come last. */
export function SortedTable({ label, titles, rows }: SortedTableProps) {
  const [order, setOrder] = useState<SortOrder>();
  const sorted = useMemo(() => {
    const index = titles.indexOf(order?.column ?? '');
    if (!order || index < 0) return rows;
    return rows.toSorted((a, b) => compareValues(a.values[index], b.values[index], order.descending));
  }, [rows, titles, order]);
  return (
    <Table
      label={label}
      titles={titles}
      rows={sorted}
      order={order}
      onSort={(column) => setOrder(nextOrder(order, column))}
    />
  );
}
