import { useMemo } from 'react';
import styles from './SqlText.module.css';
import { tokensOf } from './tokens';

/** Longer statements stay without colours. */
const MAX_COLOURED = 50_000;

/** A statement or a program. SQL has colours. */
export function SqlText({ code, language }: { code: string; language: string }) {
  const tokens = useMemo(
    () =>
      language === 'sql' && code.length <= MAX_COLOURED ? tokensOf(code) : [{ kind: 'other', text: code } as const],
    [code, language],
  );
  const label = language === 'sql' ? 'SQL, scrollable' : 'Source code, scrollable';
  return (
    // The keyboard can scroll only what it can reach.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className={styles.frame} tabIndex={0} aria-label={label}>
      <pre className={styles.code}>
        {tokens.map(({ kind, text }, index) =>
          kind === 'other' ? (
            text
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: tokens have their order
            <span key={index} className={styles[kind]}>
              {text}
            </span>
          ),
        )}
      </pre>
    </section>
  );
}
