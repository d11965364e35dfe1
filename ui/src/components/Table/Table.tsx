import type { ReactNode } from 'react';
import { directionOf, type SortOrder } from '../../trace/sorting';
import styles from './Table.module.css';

interface TableProps {
  /** Name of the table for screen readers. */
  label: string;
  /** Titles of the columns. The first column is the head of its row. */
  titles: readonly string[];
  rows: readonly { key: string; cells: readonly ReactNode[]; isMarked?: boolean }[];
  order?: SortOrder | undefined;
  /** Called with the title of a column. Without it, the rows cannot be sorted. */
  onSort?: (title: string) => void;
}

/** A table that scrolls sideways in a narrow window. */
export function Table({ label, titles, rows, order, onSort }: TableProps) {
  return (
    // The keyboard can scroll only what it can reach.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className={styles.scroll} aria-label={`${label}, scrollable`} tabIndex={0}>
      <table aria-label={label}>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col" aria-sort={onSort && directionOf(order, title)}>
                {onSort ? (
                  <button type="button" className={styles.sort} onClick={() => onSort(title)}>
                    {title}
                  </button>
                ) : (
                  title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells: [head, ...cells], isMarked }) => (
            <tr key={key} className={isMarked ? styles.marked : undefined}>
              <th scope="row">{head}</th>
              {cells.map((cell, index) => (
                <td key={titles[index + 1]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
