import { type CSSProperties, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { numberOf } from '../../graph/records';
import { type Row, type RowPage, type RowsRequest, useRows } from '../../hooks/useRows';
import { useVisibleRows } from '../../hooks/useVisibleRows';
import { nextOrder, type SortOrder } from '../../trace/sorting';
import { formatValue, isNumericType, listOf } from '../../trace/values';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { HEAD, nextCell } from './keys';
import styles from './RowTable.module.css';
import { layoutOf } from './widths';

export type TraceCell = (row: Row, column?: string) => void;

interface RowTableProps {
  request: RowsRequest;
  onSort: (sort: SortOrder | undefined) => void;
  /** Called with the record and the column of a cell, or with a record alone for a whole row. */
  onTrace: TraceCell;
}

const ROW_HEIGHT = 32;
const OVERSCAN = 12;
const FIRST_ROWS = 40;

/** The rows of a dataset, loaded when they become visible. Arrow keys move between the cells. Enter or a click traces a cell or, at its head, a row. */
export function RowTable({ request, onSort, onTrace }: RowTableProps) {
  const [range, setRange] = useState({ from: 0, to: FIRST_ROWS });
  const { first, total, rowAt } = useRows(request, range.from, range.to);
  if (first.isPending) return <Skeleton label="Loading the rows" rows={9} />;
  if (first.isError && !first.data)
    return request.where ? null : <ErrorNote error={first.error} onRetry={() => first.refetch()} />;
  const page = first.data;
  if (total === 0 && first.isPlaceholderData) return <Skeleton label="Loading the rows" rows={9} />;
  if (total === 0)
    return <Note>{page.question.where ? 'No row fits the condition.' : 'There are no rows to show.'}</Note>;
  return (
    <Grid
      page={page}
      total={total}
      rowAt={rowAt}
      order={sortOf(page)}
      isLoading={first.isPlaceholderData}
      // A click while rows load is about the order that was asked for.
      onSort={(column) => onSort(nextOrder(request.sort, column))}
      onRange={setRange}
      onTrace={onTrace}
    />
  );
}

interface GridProps {
  page: RowPage;
  total: number;
  rowAt: (index: number) => Row | undefined;
  order: SortOrder | undefined;
  /** Whether the rows of another predicate or order are loading. */
  isLoading: boolean;
  onSort: (column: string) => void;
  onRange: (range: { from: number; to: number }) => void;
  onTrace: TraceCell;
}

function Grid({ page, total, rowAt, order, isLoading, onSort, onRange, onTrace }: GridProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState({ row: 0, column: 0 });
  const { from, to, show } = useVisibleRows(frame, { count: total, height: ROW_HEIGHT });
  const [start, end] = [Math.max(0, from - OVERSCAN), Math.min(total, to + OVERSCAN)];
  useEffect(() => onRange({ from: start, to: end }), [start, end, onRange]);
  const { template, width } = layoutOf(page);
  const style: CSSProperties = { gridTemplateColumns: template, minWidth: width };

  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextCell(event.key, active, { rows: total, columns: page.columns.length });
    if (!next) return;
    event.preventDefault();
    setActive(next);
    show(next.row);
    requestAnimationFrame(() =>
      frame.current?.querySelector<HTMLElement>(`[data-cell="${next.row}:${next.column}"]`)?.focus(),
    );
  };

  return (
    <div ref={frame} className={`${styles.frame} ${isLoading ? styles.loading : ''}`} aria-busy={isLoading}>
      {/* biome-ignore lint/a11y/useSemanticElements: rows are placed by their scroll position, which a table element does not allow */}
      <div
        role="grid"
        aria-label="Rows"
        aria-rowcount={total + 1}
        aria-colcount={page.columns.length + 1}
        tabIndex={-1}
        className={styles.grid}
        onKeyDown={onKeyDown}
      >
        <HeadLine page={page} style={style} order={order} onSort={onSort} />
        <div className={styles.body} style={{ height: total * ROW_HEIGHT }}>
          {Array.from({ length: end - start }, (_, line) => start + line).map((index) => (
            <RowLine
              key={index}
              page={page}
              row={rowAt(index)}
              index={index}
              active={active.row === index ? active.column : undefined}
              style={{ ...style, transform: `translateY(${index * ROW_HEIGHT}px)` }}
              onTrace={onTrace}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface HeadLineProps {
  page: RowPage;
  style: CSSProperties;
  order: SortOrder | undefined;
  onSort: (column: string) => void;
}

function HeadLine({ page, style, order, onSort }: HeadLineProps) {
  const byLine = page.rows.some((row) => row.line !== null);
  return (
    // biome-ignore lint/a11y/useSemanticElements: part of the grid above
    // biome-ignore lint/a11y/useFocusableInteractive: the cells have the focus
    <div role="row" aria-rowindex={1} className={`${styles.line} ${styles.head}`} style={style}>
      {/* biome-ignore lint/a11y/useSemanticElements: part of the grid above */}
      <div role="columnheader" tabIndex={-1} className={`${styles.cell} ${styles.position}`}>
        {byLine ? 'line' : 'row'}
      </div>
      {page.columns.map(({ name, type }) => {
        const sorted = order?.column === name ? (order.descending ? 'descending' : 'ascending') : undefined;
        return (
          // biome-ignore lint/a11y/useSemanticElements: part of the grid above
          <div
            key={name}
            role="columnheader"
            tabIndex={-1}
            aria-sort={sorted}
            className={isNumericType(type) ? styles.number : undefined}
          >
            <button
              type="button"
              className={styles.columnHead}
              onClick={() => onSort(name)}
              title={`Sort all rows by ${name}`}
            >
              <b>
                {name}
                {sorted && (sorted === 'ascending' ? ' ↑' : ' ↓')}
              </b>
              <small>{type}</small>
            </button>
          </div>
        );
      })}
    </div>
  );
}

interface RowLineProps {
  page: RowPage;
  /** Absent while it is loading. */
  row: Row | undefined;
  index: number;
  /** The column of the cell in the tab order. */
  active: number | undefined;
  style: CSSProperties;
  onTrace: TraceCell;
}

function RowLine({ page, row, index, active, style, onTrace }: RowLineProps) {
  const values = listOf(row?.values);
  return (
    // biome-ignore lint/a11y/useSemanticElements: part of the grid above
    // biome-ignore lint/a11y/useFocusableInteractive: the cells have the focus
    <div role="row" aria-rowindex={index + 2} className={`${styles.line} ${styles.row}`} style={style}>
      {/* biome-ignore lint/a11y/useSemanticElements: part of the grid above */}
      <div
        role="rowheader"
        data-cell={`${index}:${HEAD}`}
        tabIndex={active === HEAD ? 0 : -1}
        className={`${styles.cell} ${styles.position} ${styles.value}`}
        title={row ? `Where does the whole row come from? (${numberOf(row)} of ${row.file})` : undefined}
        onClick={() => row && onTrace(row)}
        onKeyDown={(event) => event.key === 'Enter' && row && onTrace(row)}
      >
        {row ? (row.line ?? row.row) : ''}
      </div>
      {page.columns.map(({ name, type }, column) => (
        // biome-ignore lint/a11y/useSemanticElements: part of the grid above
        <div
          key={name}
          role="gridcell"
          data-cell={`${index}:${column}`}
          tabIndex={active === column ? 0 : -1}
          className={`${styles.cell} ${styles.value} ${isNumericType(type) ? styles.number : ''} ${row ? '' : styles.coming}`}
          title={row ? `Where does ${name} = ${formatValue(values[column])} come from?` : undefined}
          onClick={() => row && onTrace(row, name)}
          onKeyDown={(event) => event.key === 'Enter' && row && onTrace(row, name)}
        >
          {row ? <Value value={values[column]} /> : '·'}
        </div>
      ))}
    </div>
  );
}

function Value({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span className={styles.null}>null</span>;
  return formatValue(value);
}

/** The order of the rows. */
function sortOf({ question: { order } }: RowPage): SortOrder | undefined {
  return order ? { column: order.column, descending: order.descending ?? false } : undefined;
}
