const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS = [
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
] as const;

/** `3 minutes ago`, for an instant in ISO 8601. */
export function ago(instant: string, now = Date.now()): string {
  const seconds = Math.trunc((now - Date.parse(instant)) / 1000);
  if (Number.isNaN(seconds)) return instant;
  const size = Math.abs(seconds);
  if (size < 10) return 'just now';
  if (size >= 30 * DAY) return instant.slice(0, 10);
  // Hours and days begin at two of them, and a number is never rounded up: 38 hours are not two days.
  const [unit, length] = UNITS.find(([, each]) => size >= (each === MINUTE ? 1 : 2) * each) ?? ['second', 1];
  return new Intl.RelativeTimeFormat('en').format(-Math.trunc(seconds / length), unit);
}

/** `now`, `38 min`, `3 h` or `12 d`: the time since an instant in ISO 8601, for narrow places. */
export function shortAgo(instant: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(instant)) / 1000));
  if (Number.isNaN(seconds)) return instant;
  if (seconds < MINUTE) return 'now';
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)} h` : `${Math.floor(seconds / DAY)} d`;
}

const CARD_TIME = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
});

/** `3 Feb, 09:31:04`: an instant in UTC, for narrow places. */
export function cardTime(instant: string): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? instant : CARD_TIME.format(date);
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

/** `7.2 s`, `1 min 5 s`, or `2 h 5 min`. */
export function secondsText(seconds: number): string {
  const tenths = Math.round(seconds * 10) / 10;
  if (tenths < MINUTE) return `${tenths.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min ${whole % MINUTE} s`;
  const minutes = Math.round(seconds / MINUTE);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
