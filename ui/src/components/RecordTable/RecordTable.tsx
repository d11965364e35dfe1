import { useMemo, useRef, useState } from 'react';
import { numberOf, type ReachedRecord } from '../../graph/records';
import { formatValue, sameValue, valuesOf } from '../../trace/values';
import { Mark } from '../Mark/Mark';
import styles from './RecordTable.module.css';

interface RecordTableProps {
  /** Records of one dataset. */
  records: readonly ReachedRecord[];
  /** Names of the traced columns, which come first. */
  traced: ReadonlySet<string>;
  /** The clicked value. Records with this value are marked and come first. */
  clicked: { value: unknown } | undefined;
  /** Name of the table for screen readers. */
  label: string;
}

const AT_ONCE = 60;

export function RecordTable({ records, traced, clicked, label }: RecordTableProps) {
  const [shown, setShown] = useState(AT_ONCE);
  const frame = useRef<HTMLElement>(null);
  const rows = useMemo(() => equalFirst(records, traced, clicked), [records, traced, clicked]);
  const columns = useMemo(() => columnsOf(records, traced), [records, traced]);
  const byLine = records.some((record) => record.line !== null);
  return (
    // The keyboard must reach a region that scrolls.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section ref={frame} className={styles.frame} aria-label={label} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{byLine ? 'line' : 'row'}</th>
            {columns.map((column) => (
              <th key={column} scope="col" className={traced.has(column) ? styles.traced : undefined}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown).map((record) => (
            <tr key={`${record.file} ${record.row}`}>
              <th scope="row" title={`${numberOf(record)} of ${record.file}`}>
                {record.line ?? record.row}
              </th>
              {columns.map((column) => (
                <ValueCell
                  key={column}
                  value={valuesOf(record.values)[column]}
                  traced={traced.has(column)}
                  clicked={clicked}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown && (
        <button
          type="button"
          className={styles.more}
          onClick={() => {
            setShown(rows.length);
            // The button disappears, so the table takes the focus.
            frame.current?.focus({ preventScroll: true });
          }}
        >
          Show {(rows.length - shown).toLocaleString('en')} more
        </button>
      )}
    </section>
  );
}

interface ValueCellProps {
  value: unknown;
  traced: boolean;
  clicked: { value: unknown } | undefined;
}

function ValueCell({ value, traced, clicked }: ValueCellProps) {
  const marked = traced && clicked !== undefined && sameValue(value, clicked.value);
  return (
    <td className={marked ? styles.marked : traced ? styles.traced : undefined}>
      <span className={value === null || value === undefined ? styles.null : undefined}>{formatValue(value)}</span>
      {marked && <Mark origin={false} />}
    </td>
  );
}

function equalFirst(
  records: readonly ReachedRecord[],
  traced: ReadonlySet<string>,
  clicked: { value: unknown } | undefined,
): ReachedRecord[] {
  const equals = (record: ReachedRecord) =>
    clicked !== undefined &&
    Object.entries(valuesOf(record.values)).some(
      ([column, value]) => traced.has(column) && sameValue(value, clicked.value),
    );
  return [...records.filter(equals), ...records.filter((record) => !equals(record))];
}

function columnsOf(records: readonly ReachedRecord[], traced: ReadonlySet<string>): string[] {
  const columns = [...new Set(records.flatMap((record) => Object.keys(valuesOf(record.values))))];
  return [...columns.filter((column) => traced.has(column)), ...columns.filter((column) => !traced.has(column))];
}
