import type { TraceQuery } from '../../api/generated/first/graphql';
import { instantText } from '../../facts/time';
import { titleOf } from '../../graph/names';
import styles from '../../styles/sections.module.css';
import { recordChanges } from '../../trace/traceChanges';
import { formatValue, sameValue, valuesOf } from '../../trace/values';
import { Badge } from '../Badge/Badge';
import { Note } from '../Note/Note';
import { Table } from '../Table/Table';

type Trace = TraceQuery['trace'];

interface TraceChangesProps {
  now: Trace;
  /** The trace of the same record in the earlier version. */
  before: Trace;
  column: string | undefined;
}

/** Records of the table at once. */
const SHOWN = 50;

/** The difference of two traces of a record in words, and the records that only one of them has. */
export function TraceChanges({ now, before, column }: TraceChangesProps) {
  const since = before.asOf ? instantText(before.asOf.at) : 'the earlier version';
  if (before.selected.length !== 1)
    return (
      <Note title={`The trace is not compared with ${since}.`}>
        {before.selected.length === 0
          ? 'That version has no record with the same key.'
          : 'That version has several records with the same key. Choose the columns that identify the record.'}
      </Note>
    );
  const { changes, kept } = recordChanges(now, before);
  const isCut = [now, before].some(({ total, records }) => total > records.length);
  const count = (change: 'added' | 'gone') => changes.filter((each) => each.change === change).length;
  return (
    <section aria-label="Changes of the trace">
      <p className={styles.lead} role="status">
        Since {since}: {valueText(now, before, column)}
        Records of the answer, compared by their values: {count('added').toLocaleString('en')} new,{' '}
        {count('gone').toLocaleString('en')} gone, {kept.toLocaleString('en')} unchanged
        {isCut && ' among those that are listed'}.
        {(!now.exact || !before.exact) && ' One of both answers is not exact.'}
      </p>
      {changes.length > 0 && (
        <details>
          <summary>Records that changed</summary>
          <Table
            label="Records that only one of the answers has"
            titles={['Dataset', 'Change', 'Values']}
            rows={changes.slice(0, SHOWN).map(({ change, record }, index) => ({
              key: `${index}`,
              cells: [
                titleOf(record.dataset),
                <Badge key="change" tone={change === 'added' ? 'good' : 'bad'}>
                  {change}
                </Badge>,
                Object.entries(valuesOf(record.values))
                  .map(([name, value]) => `${name} = ${formatValue(value)}`)
                  .join(', '),
              ],
            }))}
          />
          {changes.length > SHOWN && <p>and {(changes.length - SHOWN).toLocaleString('en')} more</p>}
        </details>
      )}
    </section>
  );
}

function valueText(now: Trace, before: Trace, column: string | undefined): string {
  if (column === undefined) return '';
  const [current, earlier] = [now, before].map(({ selected }) => valuesOf(selected[0]?.values)[column]);
  if (sameValue(current, earlier)) return `${column} is still ${formatValue(current)}. `;
  return `${column} was ${formatValue(earlier)}, and is ${formatValue(current)}. `;
}
