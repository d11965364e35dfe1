import type { RowPage } from '../../hooks/useRows';
import { formatValue, listOf } from '../../trace/values';

const PER_CHARACTER = 7.6;
const AROUND = 28;
const [NARROWEST, WIDEST] = [64, 280];
const POSITION = 72;

/** Widths of the columns as a CSS grid's template, from what the first rows hold. The last column takes what is left. */
export function templateOf({ columns, rows }: Pick<RowPage, 'columns' | 'rows'>): string {
  const widths = columns.map(({ name, type }, index) => {
    const longest = Math.max(
      name.length + 1,
      type.length,
      ...rows.map((row) => formatValue(listOf(row.values)[index]).length),
    );
    return Math.round(Math.max(NARROWEST, Math.min(WIDEST, longest * PER_CHARACTER + AROUND)));
  });
  return [POSITION, ...widths]
    .map((width, index) => `minmax(${width}px, ${index === 0 ? `${width}px` : `${width}fr`})`)
    .join(' ');
}
