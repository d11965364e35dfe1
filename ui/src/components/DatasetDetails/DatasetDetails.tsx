import { useState } from 'react';
import { versionsOf } from '../../facts/datasets';
import { number, text } from '../../facts/read';
import { schemaOf } from '../../facts/schema';
import { bytesText } from '../../facts/size';
import { ago, instantText } from '../../facts/time';
import { columnTrail } from '../../graph/columns';
import { columnId, datasetOfColumn, nameOfColumn, parseId } from '../../graph/ids';
import { baseName } from '../../graph/names';
import type { GraphNode } from '../../graph/types';
import { useColumnLineage } from '../../hooks/useColumnLineage';
import { useNode } from '../../hooks/useNode';
import { HOME } from '../../location/location';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { PanelSection } from '../PanelSection/PanelSection';
import styles from './DatasetDetails.module.css';

interface DatasetDetailsProps {
  dataset: GraphNode;
  /** Ids of the columns that the trace goes through. */
  tracedColumns: ReadonlySet<string>;
}

/** Schema, lineage of one column, and what was written when. */
export function DatasetDetails({ dataset, tracedColumns }: DatasetDetailsProps) {
  const columns = schemaOf(dataset.properties);
  const firstTraced = columns.find((column) => tracedColumns.has(columnId(dataset.id, column.name)))?.name;
  const [chosen, setChosen] = useState(firstTraced);
  return (
    <>
      <PanelSection title={`${columns.length} columns`}>
        {columns.length === 0 && <p className={styles.hint}>No run has told its columns.</p>}
        <div className={styles.columns}>
          {columns.map(({ name, type }) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === chosen}
              className={`${styles.column} ${tracedColumns.has(columnId(dataset.id, name)) ? styles.traced : ''}`}
              onClick={() => setChosen(name)}
            >
              {name} <small>{type}</small>
            </button>
          ))}
        </div>
      </PanelSection>
      <PanelSection title={chosen ? `Column lineage of ${chosen}` : 'Column lineage'}>
        {chosen ? (
          <ColumnLineage column={columnId(dataset.id, chosen)} />
        ) : (
          <p className={styles.hint}>Choose a column above.</p>
        )}
      </PanelSection>
      <Versions dataset={dataset.id} />
      <PanelSection title="Rows">
        <Link to={{ ...HOME, dataset: dataset.id }}>Open {baseName(dataset.name)}</Link>
      </PanelSection>
    </>
  );
}

function ColumnLineage({ column }: { column: string }) {
  const { data, error } = useColumnLineage(column);
  if (error) return <ErrorNote error={error} />;
  if (!data) return <p className={styles.hint}>Loading …</p>;
  const from = others(columnTrail(data, column, 'backward'), column);
  const to = others(columnTrail(data, column, 'forward'), column);
  if (from.length + to.length === 0) return <p className={styles.hint}>No run has told what it was made from.</p>;
  return (
    <ul className={styles.chain}>
      {from.map((id) => (
        <ColumnLine key={id} id={id} relation="from" />
      ))}
      {to.map((id) => (
        <ColumnLine key={id} id={id} relation="into" />
      ))}
    </ul>
  );
}

function ColumnLine({ id, relation }: { id: string; relation: 'from' | 'into' }) {
  const dataset = parseId(datasetOfColumn(id)).parts.at(-1) ?? '';
  return (
    <li>
      <small>{relation}</small> {nameOfColumn(id)}{' '}
      <small title={dataset}>in {dataset.split('/').slice(-2).join('/')}</small>
    </li>
  );
}

function Versions({ dataset }: { dataset: string }) {
  const { data } = useNode(dataset, 'VERSION');
  const { written, attempts } = versionsOf(data?.children.nodes ?? []);
  if (written.length + attempts === 0) return null;
  return (
    <PanelSection title={timesWritten(written.length)}>
      <ul className={styles.versions}>
        {written.slice(0, 5).map((version, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list is made anew with every answer
          <li key={index}>
            <VersionLine version={version} />
          </li>
        ))}
      </ul>
      {attempts > 0 && (
        <p className={styles.hint}>
          {attempts === 1 ? '1 run that was' : `${attempts} runs that were`} to write it did not say that{' '}
          {attempts === 1 ? 'it' : 'they'} succeeded.
        </p>
      )}
    </PanelSection>
  );
}

function timesWritten(times: number): string {
  if (times === 0) return 'Not written yet';
  return times === 1 ? 'Written once' : `Written ${times} times`;
}

function VersionLine({ version }: { version: Record<string, unknown> }) {
  const [rows, files, bytes, when] = [
    number(version.rows),
    number(version.files),
    number(version.bytes),
    text(version.writtenAt),
  ];
  const parts = [
    rows !== undefined && `${rows.toLocaleString('en')} rows`,
    files !== undefined && `${files} ${files === 1 ? 'file' : 'files'}`,
    bytes !== undefined && bytesText(bytes),
  ].filter(Boolean);
  return (
    <>
      {parts.join(' · ') || 'size not known'}
      {when && <small title={instantText(when)}>{ago(when)}</small>}
    </>
  );
}

function others(trail: ReadonlySet<string>, column: string): string[] {
  return [...trail].filter((id) => id !== column);
}
