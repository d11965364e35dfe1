import type { RowPage } from '../../hooks/useRows';
import { formatValue, listOf } from '../../trace/values';

const PER_CHARACTER = 8.2;
const AROUND = 28;
const [NARROWEST, WIDEST] = [64, 280];
const POSITION = 72;

/**
 * Widths of the columns from what the first rows hold, as a CSS grid's template and the least width of a line. The width is the same for
 * all lines: a line that took that of its own content would share the rest among its columns in a way of its own.
 */
export function layoutOf({ columns, rows, total }: Pick<RowPage, 'columns' | 'rows' | 'total'>): {
  template: string;
  width: number;
} {
  const position = positionWidth(total, rows);
  const widths = columns.map(({ name, type }, index) => {
    const longest = Math.max(
      name.length + 1,
      type.length,
      ...rows.map((row) => formatValue(listOf(row.values)[index]).length),
    );
    return Math.round(Math.max(NARROWEST, Math.min(WIDEST, longest * PER_CHARACTER + AROUND)));
  });
  const tracks = widths.map((width) => `minmax(${width}px, ${width}fr)`);
  return {
    template: [`${position}px`, ...tracks].join(' '),
    width: widths.reduce((sum, width) => sum + width, position),
  };
}

/** Room for the number of any row: no line of those that are still to come has more than a digit more than the rows and lines known. */
function positionWidth(total: number, rows: RowPage['rows']): number {
  const last = Math.max(total, ...rows.map((row) => row.line ?? row.row));
  return Math.max(POSITION, Math.round((String(last).length + 1) * PER_CHARACTER + AROUND));
}
