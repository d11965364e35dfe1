type Cell = string | number | boolean | null | undefined;

/** A table as CSV (RFC 4180). A spreadsheet must not run a text from the data as a formula, so such a text gets a leading apostrophe. */
export function tableAsCsv(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return `${[titles, ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n')}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  const text = typeof cell === 'string' && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Let the browser save a text as a file. */
export function downloadText(name: string, type: string, text: string): void {
  downloadBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** Let the browser save bytes as a file. */
export function downloadBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = safeName(name);
  link.click();
  URL.revokeObjectURL(address);
}

/** A file name without characters that some file system refuses. */
export function safeName(name: string): string {
  const plain = [...name].map((each) => (each < ' ' || '<>:"/\\|?*'.includes(each) ? '_' : each)).join('');
  return plain.length > 120 ? `${plain.slice(0, 100)}…${plain.slice(-16)}` : plain;
}
