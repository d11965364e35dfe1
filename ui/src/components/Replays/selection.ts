import type { ReplayFactsFragment } from '../../api/generated/graphql';
import { baseName } from '../../graph/names';

type Selected = ReplayFactsFragment['records'][number];

const USE: Record<Selected['use'], string> = { LEFT_OUT: 'without', READ: 'only', EDITED: 'with new values in' };
const SHOWN = 5;

/** `without row 1009 of weather.csv`: the records that somebody selected for a replay. */
export function selectionText({ use, file, rows, total }: Selected): string {
  const numbers = rows.slice(0, SHOWN).map((row) => Number(row).toLocaleString('en'));
  const more = total - numbers.length;
  const list = [...numbers, ...(more > 0 ? [`${more.toLocaleString('en')} more`] : [])];
  const last = list.length > 1 ? ` and ${list.pop()}` : '';
  return `${USE[use]} ${total === 1 ? 'row' : 'rows'} ${list.join(', ')}${last} of ${baseName(file)}`;
}
