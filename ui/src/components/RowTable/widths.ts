import type { RowPage } from '../../hooks/useRows';
import { formatValue, listOf } from '../../trace/values';

const PER_CHARACTER = 8.2;
const AROUND = 28;
const [NARROWEST, WIDEST] = [64, 280];
const POSITION = 72;

/**
 * The template of a CSS grid and the minimum width of a line, from the values of the first rows. All lines
 * have the same width, otherwise their columns would not be aligned.
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

/** The width of the column of row numbers. Line numbers that are not loaded yet have at most one digit more than the known numbers. */
function positionWidth(total: number, rows: RowPage['rows']): number {
  const last = Math.max(total, ...rows.map((row) => row.line ?? row.row));
  return Math.max(POSITION, Math.round((String(last).length + 1) * PER_CHARACTER + AROUND));
}
