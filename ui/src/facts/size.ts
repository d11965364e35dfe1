const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `80 kB` */
export function bytesText(bytes: number): string {
  let [value, power] = [bytes, 0];
  // The rounded number decides: 999,600 bytes are 1.0 MB and not 1000 kB.
  while (Math.round(value) >= 1000 && power < UNITS.length - 1) [value, power] = [value / 1000, power + 1];
  return `${power > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}

/** `1,000 rows, 80 kB, 4 files`, as far as the numbers are known. */
export function sizeText({
  rows,
  bytes,
  files,
}: {
  rows: number | null;
  bytes: number | null;
  files: number | null;
}): string {
  const counts = [
    rows !== null && `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`,
    bytes !== null && bytesText(bytes),
    files !== null && `${files.toLocaleString('en')} ${files === 1 ? 'file' : 'files'}`,
  ];
  return counts.filter(Boolean).join(', ');
}
