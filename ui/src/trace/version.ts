import type { PathHop } from '../graph/types';

type Hop = Pick<PathHop, 'run' | 'output' | 'inputs' | 'grain'>;

/**
 * The version of a dataset that contains the traced record: the run that wrote the record, or a run that read it if no known run wrote the
 * dataset. Undefined if the path does not say it, or names several runs.
 */
export function versionOfRecord(path: readonly Hop[], dataset: string): string | undefined {
  const known = path.filter(({ grain }) => grain === 'RECORD');
  const writers = runsOf(known.filter(({ output }) => output === dataset));
  if (writers.length > 0) return writers.length === 1 ? writers[0] : undefined;
  const isWritten = path.some(({ output }) => output === dataset);
  return isWritten ? undefined : runsOf(known.filter(({ inputs }) => inputs.includes(dataset)))[0];
}

function runsOf(hops: readonly Hop[]): string[] {
  return [...new Set(hops.map(({ run }) => run))];
}
