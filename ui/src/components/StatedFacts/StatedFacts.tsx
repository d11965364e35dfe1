import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { StatedFactsDocument, type StatedFactsQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { sizeText } from '../../facts/size';
import { instantText } from '../../facts/time';
import { PanelSection } from '../PanelSection/PanelSection';
import { SourceLink } from '../SourceLink/SourceLink';
import styles from './StatedFacts.module.css';

type Stated = NonNullable<StatedFactsQuery['node']>;
type Size = NonNullable<Stated['facts']['size']>;

const LINES = 12;

interface StatedFactsProps {
  /** Id of the node. */
  node: string;
  /** A sentence in place of facts, if nothing is known. */
  otherwise?: string;
}

/** What producers and people state about a dataset, a job or a run: one row for each fact, nothing for what is not known. */
export function StatedFacts({ node, otherwise }: StatedFactsProps) {
  const { data } = useQuery(queryOf(StatedFactsDocument, { id: node }));
  const rows = data?.node ? rowsOf(data.node) : [];
  if (rows.length === 0) return data && otherwise ? <p className={styles.cut}>{otherwise}</p> : null;
  return (
    <PanelSection title="About">
      <dl className={styles.facts}>
        {rows.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </PanelSection>
  );
}

function rowsOf({ descriptions, facts }: Stated): [string, ReactNode][] {
  const { size, quality, error, sourcePlace, sql, source, inputs, outputs } = facts;
  const rows: [string, ReactNode][] = [
    ['Description', descriptions.description],
    ['Owners', descriptions.owners.join(', ')],
    ['Tags', descriptions.tags.join(', ')],
    ['Terms', descriptions.terms.join(', ')],
    ['Size', size && sizeAt(size)],
    ['Quality', quality && qualityText(quality)],
    ['Read', inputs.length > 0 && <Sizes sizes={inputs} />],
    ['Written', outputs.length > 0 && <Sizes sizes={outputs} />],
    ['Error', error && <ErrorText error={error} />],
    ['Source code', sourcePlace && <SourceLink place={sourcePlace} />],
    [sql?.dialect ? `Query (${sql.dialect})` : 'Query', sql && <Code text={sql.query} isCut={sql.cut} />],
    [
      source?.language ? `Program (${source.language})` : 'Program',
      source && <Code text={source.code} isCut={source.cut} />,
    ],
  ];
  return rows.filter(([, value]) => value);
}

function sizeAt(size: Size): string {
  const text = sizeText(size);
  return size.at ? `${text}, written ${instantText(size.at)}` : text;
}

function qualityText({ passed, failed }: NonNullable<Stated['facts']['quality']>): string | undefined {
  if (passed + failed === 0) return undefined;
  return failed === 0 ? `${passed} checks passed` : `${failed} of ${passed + failed} checks failed`;
}

function Sizes({ sizes }: { sizes: Stated['facts']['inputs'] }) {
  return (
    <ul>
      {sizes.slice(0, LINES).map(({ dataset, size }) => (
        <li key={dataset}>
          {decodeURIComponent(dataset.split(':').slice(2).join(':'))}: {sizeAt(size)}
        </li>
      ))}
      {sizes.length > LINES && <li>and {sizes.length - LINES} more</li>}
    </ul>
  );
}

function ErrorText({ error }: { error: NonNullable<Stated['facts']['error']> }) {
  return (
    <>
      <p className={styles.error}>{error.message}</p>
      {error.stackTrace && <Code text={error.stackTrace} isCut={error.cut} />}
    </>
  );
}

/** A text in many lines: its beginning, and all of it on request. */
function Code({ text, isCut }: { text: string; isCut: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const lines = text.split('\n');
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the area scrolls, and the keyboard must reach it */}
      <pre className={styles.code} tabIndex={0}>
        {isOpen ? text : lines.slice(0, LINES).join('\n')}
      </pre>
      {!isOpen && lines.length > LINES && (
        <button type="button" onClick={() => setOpen(true)}>
          Show all {lines.length.toLocaleString('en')} lines
        </button>
      )}
      {isCut && <p className={styles.cut}>The producer stated more. This is the beginning.</p>}
    </>
  );
}
