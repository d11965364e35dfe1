import { useQuery } from '@tanstack/react-query';
import {
  CancelCulpritSearchDocument,
  CulpritSearchesDocument,
  type CulpritSearchesQuery,
  StartWhyDocument,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import { isRunning } from '../../hooks/useTraceJob';
import { ErrorNote, Note } from '../Note/Note';
import { Table } from '../Table/Table';
import styles from './WhyPanel.module.css';

const REFRESH_MS = 1000;

type Search = CulpritSearchesQuery['culpritSearches'][number];
type Culprit = Search['records'][number];

interface WhyPanelProps {
  /** Id of a failed run. */
  run: string;
}

/**
 * Names the input record at which a run failed: the service runs its registered program again on parts of its input. Only a session with the
 * scope `replay` may start or cancel a search (`headwater serve --write-link`).
 */
export function WhyPanel({ run }: WhyPanelProps) {
  const { scopes } = useSession();
  const { data } = useQuery({
    ...queryOf(CulpritSearchesDocument, {}),
    refetchInterval: (query) =>
      query.state.data?.culpritSearches.some(({ state }) => isRunning(state)) ? REFRESH_MS : false,
  });
  const stale = [CulpritSearchesDocument];
  const start = useChange(StartWhyDocument, { stale });
  const cancel = useChange(CancelCulpritSearchDocument, { stale });
  const search = data?.culpritSearches.find((each) => each.kind === 'WHY' && each.subject === run);
  const mayRun = scopes.includes('replay');
  if (!search && !mayRun) return null;
  const isSearching = isRunning(search?.state);
  return (
    <>
      <h2 id="why">Why?</h2>
      {search && (isSearching ? <Steps search={search} /> : <Answer search={search} />)}
      {mayRun && (
        <div className={styles.offer}>
          {isSearching ? (
            <button
              type="button"
              className={styles.button}
              disabled={cancel.isPending}
              onClick={() => search && cancel.mutate({ id: search.id })}
            >
              Cancel the search
            </button>
          ) : (
            <button
              type="button"
              className={styles.button}
              disabled={start.isPending}
              onClick={() => start.mutate({ run })}
            >
              {search ? 'Search again' : 'Find the record at which it failed'}
            </button>
          )}
          <p>The program runs again on parts of its input, next to the real data, which stays unchanged.</p>
          {(start.error ?? cancel.error) && <ErrorNote error={(start.error ?? cancel.error) as Error} />}
        </div>
      )}
    </>
  );
}

function Steps({ search: { state, trials, left } }: { search: Search }) {
  return (
    <Note title="The record is searched.">
      <p role="status">
        {state === 'QUEUED'
          ? 'The search waits for its turn.'
          : `${trials} trials so far, ${left.toLocaleString('en')} records left.`}
      </p>
    </Note>
  );
}

function Answer({ search }: { search: Search }) {
  const { state, error, problem, step, function: failed, records, origins, count, isMinimal, trials, notes } = search;
  if (state === 'FAILED' && records.length === 0) return <Note tone="bad" title={error ?? 'The search failed.'} />;
  if (problem) return <Note title="No record was found.">{`The reason: ${problem}.`}</Note>;
  return (
    <>
      {step && <p>{`The step: ${step}`}</p>}
      {failed && <p>{`The function: ${failed}`}</p>}
      <Records title={count === 1 ? 'The record that fails' : 'Records that fail together'} records={records} />
      {origins.length > 0 && <Records title="They came from" records={origins} />}
      <p>
        {isMinimal
          ? `Without any one of them, the program does not fail in this way (${trials} trials).`
          : `The search ended early, after ${trials} trials. Fewer records may suffice.`}
        {count > records.length && ` The first ${records.length} of ${count.toLocaleString('en')} are shown.`}
      </p>
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </>
  );
}

function Records({ title, records }: { title: string; records: readonly Culprit[] }) {
  return (
    <Table
      label={title}
      titles={['File', 'Row', 'Values']}
      rows={records.map(({ file, row, values }) => ({
        key: `${file} ${row}`,
        cells: [file.replace(/^file:/, ''), String(row), valuesText(values)],
      }))}
    />
  );
}

function valuesText(values: unknown): string {
  return Object.entries((values ?? {}) as Record<string, unknown>)
    .map(([column, value]) => `${column} ${value === null ? 'NULL' : String(value)}`)
    .join(', ');
}
