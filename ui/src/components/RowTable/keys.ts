export interface Cell {
  row: number;
  column: number;
}

const PAGE = 12;

/** The head of a row, left of its first column. */
export const HEAD = -1;

/** The cell to which a key moves the focus, undefined for other keys. */
export function nextCell(
  key: string,
  { row, column }: Cell,
  size: { rows: number; columns: number },
): Cell | undefined {
  const moves: Record<string, Cell> = {
    ArrowUp: { row: row - 1, column },
    ArrowDown: { row: row + 1, column },
    ArrowLeft: { row, column: column - 1 },
    ArrowRight: { row, column: column + 1 },
    PageUp: { row: row - PAGE, column },
    PageDown: { row: row + PAGE, column },
    Home: { row, column: HEAD },
    End: { row, column: size.columns - 1 },
  };
  const next = moves[key];
  return next && { row: within(0, next.row, size.rows), column: within(HEAD, next.column, size.columns) };
}

function within(least: number, value: number, count: number): number {
  return Math.max(least, Math.min(count - 1, value));
}
