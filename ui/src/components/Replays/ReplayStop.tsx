import { type FormEvent, useState } from 'react';
import {
  AnswerReplayDocument,
  ReplayDocument,
  type ReplayQuery,
  ReplaysDocument,
  type StopAction,
} from '../../api/generated/graphql';
import { jobTitleOf, titleOf } from '../../graph/names';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { formatValue, valuesOf } from '../../trace/values';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { ErrorNote, Note } from '../Note/Note';
import { Table } from '../Table/Table';
import own from './ReplayView.module.css';

type Stop = NonNullable<NonNullable<ReplayQuery['replay']>['stop']>;
type Dataset = Stop['inputs'][number];
type Row = Dataset['rows'][number];

interface Answer {
  action: StopAction;
  file?: string;
  row?: Row['row'];
  edits?: { column: string; value: string | null }[];
}

/** A stop before a program: the records that go in, the records that the program before wrote, and the answers of the session. */
export function ReplayStop({ id, stop: { job, inputs, outputs } }: { id: string; stop: Stop }) {
  const { scopes } = useSession();
  const answer = useChange(AnswerReplayDocument, { stale: [ReplayDocument, ReplaysDocument] });
  const mayAnswer = scopes.includes('replay');
  const give = (given: Answer) => answer.mutate({ id, ...given });
  return (
    <section className={styles.section} aria-labelledby="stop">
      <h2 id="stop">Stopped before {jobTitleOf(job)}</h2>
      {mayAnswer && (
        <div className={styles.actions}>
          <button type="button" disabled={answer.isPending} onClick={() => give({ action: 'CONTINUE' })}>
            Continue
          </button>
          <ConfirmButton
            label="Stop"
            object="the replay here"
            disabled={answer.isPending}
            onConfirm={() => give({ action: 'STOP' })}
          />
        </div>
      )}
      {answer.error && <ErrorNote error={answer.error} />}
      <h3>Records that go in</h3>
      {inputs.map((dataset) => (
        <Records key={dataset.dataset} dataset={dataset} onAnswer={mayAnswer && !answer.isPending ? give : undefined} />
      ))}
      {outputs.length > 0 && <h3>Records that the program before wrote</h3>}
      {outputs.map((dataset) => (
        <Records key={dataset.dataset} dataset={dataset} />
      ))}
    </section>
  );
}

/** The first records of a dataset. With `onAnswer`, each can be left out or edited. */
function Records({
  dataset: { dataset, rows, note },
  onAnswer,
}: {
  dataset: Dataset;
  onAnswer?: ((answer: Answer) => void) | undefined;
}) {
  const [edited, setEdited] = useState<Row | null>(null);
  const name = titleOf(dataset);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(valuesOf(row.values))))];
  const actionsOf = (row: Row) => (
    <span className={own.answers}>
      <button
        type="button"
        aria-label={`Drop ${placeOf(row)}`}
        onClick={() => onAnswer?.({ action: 'DROP', file: row.file, row: row.row })}
      >
        Drop
      </button>
      <button type="button" aria-label={`Edit ${placeOf(row)}`} onClick={() => setEdited(row)}>
        Edit
      </button>
    </span>
  );
  return (
    <>
      {note && <Note title={name}>{note}</Note>}
      {rows.length > 0 && (
        <Table
          label={`Records of ${name}`}
          titles={['record', ...columns, ...(onAnswer ? ['answer'] : [])]}
          rows={rows.map((row) => ({
            key: `${row.file} ${row.row}`,
            cells: [
              <span key="place" title={row.file}>
                {placeOf(row)}
              </span>,
              ...columns.map((column) => formatValue(valuesOf(row.values)[column])),
              ...(onAnswer ? [actionsOf(row)] : []),
            ],
          }))}
        />
      )}
      {onAnswer && edited && (
        <EditForm
          key={`${edited.file} ${edited.row}`}
          row={edited}
          columns={columns}
          onClose={() => setEdited(null)}
          onEdit={(edits) => {
            setEdited(null);
            onAnswer({ action: 'EDIT', file: edited.file, row: edited.row, edits });
          }}
        />
      )}
    </>
  );
}

interface EditFormProps {
  row: Row;
  columns: readonly string[];
  onEdit: (edits: NonNullable<Answer['edits']>) => void;
  onClose: () => void;
}

/** A new value for one column of a record. */
function EditForm({ row, columns, onEdit, onClose }: EditFormProps) {
  const [column, setColumn] = useState(columns[0] ?? '');
  const [value, setValue] = useState('');
  const [isNull, setNull] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onEdit([{ column, value: isNull ? null : value }]);
  };
  return (
    <form className={own.edit} aria-label={`New value in ${placeOf(row)}`} onSubmit={submit}>
      <label>
        Column{' '}
        <select value={column} onChange={(event) => setColumn(event.target.value)}>
          {columns.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label>
        New value <input value={value} disabled={isNull} onChange={(event) => setValue(event.target.value)} />
      </label>
      <label>
        <input type="checkbox" checked={isNull} onChange={(event) => setNull(event.target.checked)} /> NULL
      </label>
      <button type="submit">Set</button>
      <button type="button" onClick={onClose}>
        Cancel
      </button>
    </form>
  );
}

function placeOf(row: Row): string {
  return `row ${Number(row.row).toLocaleString('en')} of ${row.file.split('/').at(-1)}`;
}
