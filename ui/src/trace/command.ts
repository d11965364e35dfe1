import type { DirectionChoice, SemanticsChoice } from '../location/location';

export interface CommandRequest {
  /** Path of the dataset. */
  dataset: string;
  /** A predicate that selects the record. Without one, the file and row select it. */
  where?: string | undefined;
  file: string;
  row: number;
  column?: string | undefined;
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Name of the target dataset. */
  to?: string | undefined;
}

/** The command for the trace that the page shows. */
export function traceCommand({ dataset, where, file, row, column, semantics, direction, to }: CommandRequest): string {
  return [
    'headwater trace',
    quote(dataset),
    ...(where ? ['--where', quote(where)] : ['--row', quote(`${file.replace(/^file:/, '')}:${row}`)]),
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
