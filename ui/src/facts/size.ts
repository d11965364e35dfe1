const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `80 kB` */
export function bytesText(bytes: number): string {
  let [value, power] = [bytes, 0];
  // The rounded number decides: 999,600 bytes are 1.0 MB and not 1000 kB.
  while (Math.round(value) >= 1000 && power < UNITS.length - 1) [value, power] = [value / 1000, power + 1];
  return `${power > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}
