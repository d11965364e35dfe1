import type { CodeFragment } from '../../api/generated/graphql';
import styles from '../../styles/sections.module.css';
import { SourceLink } from '../SourceLink/SourceLink';
import { SqlText } from '../SqlText/SqlText';

interface CodeSectionProps {
  sql?: CodeFragment['sql'] | undefined;
  source?: CodeFragment['source'] | undefined;
  place?: CodeFragment['sourcePlace'] | undefined;
}

/** The statement or the program of a job, and its place. */
export function CodeSection({ sql, source, place }: CodeSectionProps) {
  if (!sql && !source && !place) return null;
  return (
    <section className={styles.section} aria-labelledby="code">
      <h2 id="code">{sql ? 'SQL' : 'Source code'}</h2>
      {place && (
        <p className={styles.facts}>
          <SourceLink place={place} />
        </p>
      )}
      {sql && <SqlText code={sql.query} language="sql" />}
      {!sql && source && <SqlText code={source.code} language={source.language?.toLowerCase() ?? ''} />}
      {(sql ?? source)?.cut && <p className={styles.lead}>The producer stated more. This is the beginning.</p>}
    </section>
  );
}
