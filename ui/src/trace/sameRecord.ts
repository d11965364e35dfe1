/** The same record in another version of its dataset. The files differ, so the values of key columns identify the record. */
import type { PathHop } from '../graph/types';
import { conditionOn } from './predicate';

type Values = Record<string, unknown>;

const KEY_NAME = /(^|_)(id|key|code|uuid|number)$/i;

/** Columns that probably identify a record: those by which its job grouped rows, or those with the name of a key. */
export function usualKey(values: Values, path: readonly PathHop[], dataset: string): string[] {
  const steps = path.filter(({ output }) => output === dataset).flatMap(({ expressions = [] }) => expressions);
  const groups = steps.filter(({ operator }) => operator.startsWith('Aggregate')).flatMap(({ by }) => by);
  const grouped = Object.keys(values).filter((name) => groups.includes(name));
  return grouped.length > 0 ? grouped : Object.keys(values).filter((name) => KEY_NAME.test(name));
}

/** A predicate for the records with the same values in the key columns. */
export function predicateOf(values: Values, key: readonly string[]): string {
  return key.map((name) => conditionOn(name, values[name])).join(' AND ');
}

/** The key columns of the address, as far as the record has them, or the usual ones. */
export function keyOf(values: Values, path: readonly PathHop[], dataset: string, stated?: readonly string[]): string[] {
  return stated?.filter((name) => name in values) ?? usualKey(values, path, dataset);
}
