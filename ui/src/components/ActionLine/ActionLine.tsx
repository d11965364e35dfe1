import type { ReactNode } from 'react';
import styles from './ActionLine.module.css';

/** Buttons in a line. What they open is below the line, in its full width. */
export function ActionLine({ children }: { children: ReactNode }) {
  return <div className={styles.line}>{children}</div>;
}
