import type { DirectionChoice, SemanticsChoice } from '../location/location';

export interface CommandRequest {
  /** Path of the dataset. */
  dataset: string;
  file: string;
  row: number;
  /** Version of the dataset that contains the record. */
  version?: string | undefined;
  column?: string | undefined;
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Name of the target dataset. */
  to?: string | undefined;
}

/** The command for the trace that the page shows. */
export function traceCommand({
  dataset,
  file,
  row,
  version,
  column,
  semantics,
  direction,
  to,
}: CommandRequest): string {
  return [
    'headwater trace',
    quote(dataset),
    '--row',
    quote(`${file.replace(/^file:/, '')}:${row}`),
    ...(version ? ['--as-of', quote(version.replace(/^run:/, ''))] : []),
    ...(column ? ['--column', quote(column)] : []),
    '--semantics',
    semantics,
    ...(direction === 'forward' ? ['--forward'] : []),
    ...(to ? ['--to', quote(to)] : []),
  ].join(' ');
}

/** Quote a word for a POSIX shell. */
function quote(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!/[$`"\\!]/.test(word)) return `"${word}"`;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
