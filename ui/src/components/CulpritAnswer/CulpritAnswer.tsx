import type { CulpritSearchesQuery } from '../../api/generated/graphql';
import { isRunning } from '../../hooks/useTraceJob';
import { Note } from '../Note/Note';
import { Table } from '../Table/Table';

type Search = CulpritSearchesQuery['culpritSearches'][number];
type Culprit = Search['records'][number];

/** The words for the kinds of searches that the page starts. */
const WORDS = {
  WHY: {
    one: 'The record that fails',
    many: 'Records that fail together',
    effect: 'the program does not fail in this way',
  },
  BLAME: {
    one: 'The record to blame',
    many: 'Records to blame together',
    effect: 'the programs make no wrong row',
  },
  WITNESS: {
    one: 'The record that gives the row',
    many: 'Records that give the row together',
    effect: 'the program makes no such row',
  },
};

/** The progress of a search for culprits, and then the records that it found. */
export function CulpritAnswer({ search }: { search: Search }) {
  return isRunning(search.state) ? <Steps search={search} /> : <Answer search={search} />;
}

function Steps({ search: { kind, state, trials, left, doing } }: { search: Search }) {
  const isOfRecords = kind in WORDS;
  const progress = isOfRecords
    ? `${trials} trials so far, ${left.toLocaleString('en')} records left.`
    : `Now: ${doing ?? 'the beginning'}.`;
  return (
    <Note title={isOfRecords ? 'The record is searched.' : 'The service is at work.'}>
      <p role="status">{state === 'QUEUED' ? 'The search waits for its turn.' : progress}</p>
    </Note>
  );
}

function Answer({ search }: { search: Search }) {
  const {
    kind,
    state,
    error,
    problem,
    step,
    function: failed,
    records,
    origins,
    count,
    isMinimal,
    trials,
    notes,
  } = search;
  const words = WORDS[kind as keyof typeof WORDS] ?? WORDS.BLAME;
  if (state === 'FAILED' && records.length === 0) return <Note tone="bad" title={error ?? 'The search failed.'} />;
  if (problem) return <Note title="No record was found.">{`The reason: ${problem}.`}</Note>;
  return (
    <>
      {step && <p>{`The step: ${step}`}</p>}
      {failed && <p>{`The function: ${failed}`}</p>}
      <Records title={count === 1 ? words.one : words.many} records={records} />
      {origins.length > 0 && <Records title="They came from" records={origins} />}
      <p>
        {isMinimal
          ? `Without any one of them, ${words.effect} (${trials} trials).`
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
