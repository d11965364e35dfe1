const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `3 minutes ago`, for an instant in ISO 8601. */
export function ago(instant: string, now = Date.now()): string {
  const seconds = Math.round((now - Date.parse(instant)) / 1000);
  if (Number.isNaN(seconds)) return instant;
  if (seconds < 10) return 'just now';
  const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  if (seconds < MINUTE) return format.format(-seconds, 'second');
  if (seconds < HOUR) return format.format(-Math.round(seconds / MINUTE), 'minute');
  if (seconds < DAY) return format.format(-Math.round(seconds / HOUR), 'hour');
  if (seconds < 30 * DAY) return format.format(-Math.round(seconds / DAY), 'day');
  return instant.slice(0, 10);
}

/** `2026-02-03 09:31:04 UTC` */
export function instantText(instant: string): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? instant : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `7.2 s`, between two instants. */
export function duration(from: string, to: string): string | undefined {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return Number.isNaN(seconds) || seconds < 0 ? undefined : secondsText(seconds);
}

/** `7.2 s`, or `1 min 5 s`. */
export function secondsText(seconds: number): string {
  if (seconds < MINUTE) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / MINUTE)} min ${Math.round(seconds % MINUTE)} s`;
}
