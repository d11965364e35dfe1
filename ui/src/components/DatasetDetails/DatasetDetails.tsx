import { useState } from 'react';
import { sizesOf, versionsOf } from '../../facts/datasets';
import { text } from '../../facts/read';
import { schemaOf } from '../../facts/schema';
import { bytesText } from '../../facts/size';
import { ago, instantText } from '../../facts/time';
import { columnTrail } from '../../graph/columns';
import { columnId, datasetOfColumn, nameOfColumn } from '../../graph/ids';
import { pathOf, titleOf } from '../../graph/names';
import { useChildren, useColumnLineage, useNode } from '../../hooks/useLineage';
import { HOME } from '../../location/location';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { PanelSection } from '../PanelSection/PanelSection';
import styles from './DatasetDetails.module.css';

interface DatasetDetailsProps {
  /** Id of the dataset. */
  dataset: string;
  /** Ids of the columns on the trail of the traced column. */
  tracedColumns: ReadonlySet<string>;
}

/** The schema, the lineage of a column, and the latest versions. */
export function DatasetDetails({ dataset, tracedColumns }: DatasetDetailsProps) {
  const { data: node, error, isPending } = useNode(dataset);
  const [choice, setChoice] = useState<string>();
  const columns = schemaOf(node?.properties);
  const isTraced = ({ name }: { name: string }) => tracedColumns.has(columnId(dataset, name));
  const column = choice ?? columns.find(isTraced)?.name;
  if (error) return <ErrorNote error={error} />;
  return (
    <>
      <PanelSection title={`${columns.length} columns`}>
        {columns.length === 0 && (
          <p className={styles.hint}>{isPending ? 'Loading …' : 'No run reported the columns.'}</p>
        )}
        <div className={styles.columns}>
          {columns.map(({ name, type }) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === column}
              className={`${styles.column} ${isTraced({ name }) ? styles.traced : ''}`}
              onClick={() => setChoice(name)}
            >
              {name} <small>{type}</small>
            </button>
          ))}
        </div>
      </PanelSection>
      <PanelSection title={column ? `Column lineage of ${column}` : 'Column lineage'}>
        {column ? (
          <ColumnLineage column={columnId(dataset, column)} />
        ) : (
          <p className={styles.hint}>Select a column above.</p>
        )}
      </PanelSection>
      <Versions dataset={dataset} />
      <PanelSection title="Rows">
        <Link to={{ ...HOME, dataset }}>Open {titleOf(dataset)}</Link>
      </PanelSection>
    </>
  );
}

export function ColumnLineage({ column }: { column: string }) {
  const { data, error } = useColumnLineage(column);
  if (error) return <ErrorNote error={error} />;
  if (!data) return <p className={styles.hint}>Loading …</p>;
  const from = others(columnTrail(data, column, 'backward'), column);
  const to = others(columnTrail(data, column, 'forward'), column);
  if (from.length + to.length === 0) return <p className={styles.hint}>No run reported the lineage of this column.</p>;
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
  const dataset = pathOf(datasetOfColumn(id));
  return (
    <li>
      <small>{relation}</small> {nameOfColumn(id)}{' '}
      <small title={dataset}>in {dataset.split('/').slice(-2).join('/')}</small>
    </li>
  );
}

function Versions({ dataset }: { dataset: string }) {
  const { data } = useChildren(dataset, 'VERSION');
  const { written, attempts } = versionsOf(data?.children.nodes ?? []);
  if (written.length + attempts === 0) return null;
  return (
    <PanelSection title={timesWritten(written.length)}>
      <ul className={styles.versions}>
        {written.slice(0, 5).map((version, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: each answer replaces the list
          <li key={index}>
            <VersionLine version={version} />
          </li>
        ))}
      </ul>
      {attempts > 0 && (
        <p className={styles.hint}>
          {attempts === 1 ? '1 other run' : `${attempts} other runs`} started to write this dataset without a report of
          success.
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
  const { rows, files, bytes } = sizesOf(version);
  const when = text(version.writtenAt);
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
