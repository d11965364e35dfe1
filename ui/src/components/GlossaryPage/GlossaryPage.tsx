import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { GlossaryDocument, type GlossaryQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import styles from '../../styles/sections.module.css';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import own from './GlossaryPage.module.css';

type Term = GlossaryQuery['glossary']['terms'][number];

const SHOWN = 500;

/** The business terms as a tree. */
export function GlossaryPage() {
  const { data, error, isPending, refetch } = useQuery(queryOf(GlossaryDocument, {}));
  const [text, setText] = useState('');
  const terms = data?.glossary.terms ?? [];
  const found = terms.filter((term) => fits(term, text.trim().toLowerCase()));
  return (
    <div className={styles.page}>
      <h1 className={styles.title}>Glossary</h1>
      <p className={styles.lead}>Business terms that people give to datasets, columns and jobs.</p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the terms" rows={6} />}
      {data && terms.length === 0 && (
        <Note title="There are no terms yet.">
          Import them from a CSV or SKOS file: <code>headwater glossary import terms.csv</code>
        </Note>
      )}
      {terms.length > 0 && (
        <>
          <search className={styles.form}>
            <label>
              Find a term
              <input type="search" value={text} onChange={({ target }) => setText(target.value)} />
            </label>
          </search>
          <p role="status" className={styles.lead}>
            {found.length.toLocaleString('en')} of {terms.length.toLocaleString('en')} terms
            {found.length > SHOWN && `. The first ${SHOWN} are shown: add a word.`}
            {data?.glossary.cut && '. The glossary has more terms than the service lists.'}
          </p>
          <ul className={own.terms} aria-label="Terms">
            {found.slice(0, SHOWN).map((term) => (
              <li key={term.id} style={{ marginInlineStart: `${text ? 0 : Math.min(term.level, 8) * 22}px` }}>
                <b>
                  <bdi>{term.name}</bdi>
                </b>{' '}
                {term.broader && <span className={own.soft}>in {term.broader}</span>}{' '}
                {term.owners.length > 0 && <span className={own.soft}>owned by {term.owners.join(', ')}</span>}
                {term.description && <p>{term.description}</p>}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function fits({ name, description, broader }: Term, text: string): boolean {
  return [name, description, broader].some((part) => part?.toLowerCase().includes(text));
}
