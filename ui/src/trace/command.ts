import type { DirectionChoice, SemanticsChoice } from '../location/location';

export interface CommandRequest {
  /** The dataset as people name it: its path. */
  dataset: string;
  where: string;
  column?: string | undefined;
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Name of the target dataset. */
  to?: string | undefined;
}

/** The command line that asks what the page shows. */
export function traceCommand({ dataset, where, column, semantics, direction, to }: CommandRequest): string {
  return [
    'headwater trace',
    quote(dataset),
    '--where',
    quote(where),
    ...(column ? ['--column', quote(column)] : []),
    '--semantics',
    semantics,
    ...(direction === 'forward' ? ['--forward'] : []),
    ...(to ? ['--to', quote(to)] : []),
  ].join(' ');
}

/** A word of a POSIX shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
