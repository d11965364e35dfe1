import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import {
  DiffDocument,
  type DiffQuery,
  type DiffQueryVariables,
  type DiffRowFragment,
} from '../../api/generated/graphql';
import { answerOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { numberOf } from '../../graph/records';
import { useSession } from '../../hooks/useSession';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { formatValue, listOf, sameValue } from '../../trace/values';
import { Badge, type Tone } from '../Badge/Badge';
import { Incomplete } from '../Incomplete/Incomplete';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

type Answer = DiffQuery['diff'];
type Entry = Answer['entries'][number];

const PAGE_SIZE = 50;
const TONE: Record<Entry['change'], Tone> = { ADDED: 'good', REMOVED: 'bad', CHANGED: 'accent' };

/** The form for a comparison of two versions, and its result. */
export function Diff({ dataset }: { dataset: string }) {
  const { scopes } = useSession();
  const [request, setRequest] = useState<DiffQueryVariables>();
  if (!scopes.includes('records')) return null;
  return (
    <section className={styles.section} aria-labelledby="diff">
      <h2 id="diff">Compare versions</h2>
      <p className={styles.lead}>
        A version is the number of a block, an instant, or “now”. With a key, a record with other values counts as
        changed.
      </p>
      <form
        className={styles.form}
        aria-label="Compare versions"
        onSubmit={(event) => {
          const field = readForm(event);
          const key = field('key')
            ?.split(',')
            .map((column) => column.trim());
          setRequest({
            dataset,
            before: field('before') ?? '',
            after: field('after') ?? 'now',
            key: key ?? null,
            first: PAGE_SIZE,
            offset: 0,
          });
        }}
      >
        <label>
          Before
          <input name="before" required placeholder="1" spellCheck={false} autoComplete="off" />
        </label>
        <label>
          After
          <input name="after" placeholder="now" spellCheck={false} autoComplete="off" />
        </label>
        <label>
          Key columns
          <input name="key" placeholder="a, b" spellCheck={false} autoComplete="off" />
        </label>
        <button type="submit">Compare</button>
      </form>
      {request && <Result request={request} onPage={(offset) => setRequest({ ...request, offset })} />}
    </section>
  );
}

function Result({ request, onPage }: { request: DiffQueryVariables; onPage: (offset: number) => void }) {
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery(answerOf(DiffDocument, request));
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (isPending) return <Skeleton label="Comparing the versions" rows={6} />;
  const { question, answer } = data;
  const { before, after, added, removed, changed, entries, total, columns, exact, notes } = answer.diff;
  const offset = question.offset ?? 0;
  return (
    <div aria-busy={isPlaceholderData} className={isPlaceholderData ? styles.loading : undefined}>
      <p className={styles.facts} role="status">
        <span>
          From {before.name} to {after.name}: {added.toLocaleString('en')} added, {removed.toLocaleString('en')}{' '}
          removed, {changed.toLocaleString('en')} changed.
        </span>
        {exact ? <Badge tone="good">exact</Badge> : <Badge tone="warn">not exact</Badge>}
      </p>
      <Incomplete answer={answer.diff} />
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
      {entries.length > 0 && (
        <Table
          label="Differences between the versions"
          titles={['Record', 'Change', ...columns.map(({ name }) => name)]}
          rows={entries.map((entry, index) => ({
            key: `${offset + index}`,
            cells: cellsOf(entry, answer.diff, question),
          }))}
        />
      )}
      {total > entries.length && (
        <p className={styles.actions}>
          <button
            type="button"
            disabled={isPlaceholderData || offset === 0}
            onClick={() => onPage(Math.max(0, offset - PAGE_SIZE))}
          >
            Previous
          </button>
          <button
            type="button"
            disabled={isPlaceholderData || offset + PAGE_SIZE >= total}
            onClick={() => onPage(offset + PAGE_SIZE)}
          >
            Next
          </button>
          <span>
            {(offset + 1).toLocaleString('en')} to {(offset + entries.length).toLocaleString('en')} of{' '}
            {total.toLocaleString('en')}
          </span>
        </p>
      )}
    </div>
  );
}

/** The place of the record with a link to its trace, the change, and the values before and after. */
function cellsOf(entry: Entry, { before, after, columns }: Answer, { dataset }: DiffQueryVariables): ReactNode[] {
  const sides = [
    { record: entry.before, version: before.asOf },
    { record: entry.after, version: after.asOf },
  ] as const;
  const [old, current] = sides.map(({ record }) => record && listOf(record.values));
  return [
    sides.map(
      ({ record, version }, index) =>
        record && (
          // biome-ignore lint/suspicious/noArrayIndexKey: the two sides
          <div key={index}>
            <RecordLink dataset={dataset} record={record} version={version} label={index === 0 ? 'before' : 'after'} />
          </div>
        ),
    ),
    <Badge key="change" tone={TONE[entry.change]}>
      {entry.change.toLowerCase()}
    </Badge>,
    ...columns.map(({ name }, index) => {
      if (!old || !current || sameValue(old[index], current[index])) return formatValue((current ?? old)?.[index]);
      return (
        <span key={name}>
          <span className="visually-hidden">before </span>
          <del>{formatValue(old[index])}</del> <span className="visually-hidden">after </span>
          <ins>{formatValue(current[index])}</ins>
        </span>
      );
    }),
  ];
}

interface RecordLinkProps {
  dataset: string;
  record: DiffRowFragment;
  /** The version of the record in the form that a trace accepts. Null stands for the current version. */
  version: string | null;
  label: string;
}

function RecordLink({ dataset, record: { file, row, line }, version, label }: RecordLinkProps) {
  return (
    <Link to={{ ...HOME, dataset, file, row, ...(version && { version }) }} title={`Trace this record of ${file}`}>
      {label}: {numberOf({ row, line })}
    </Link>
  );
}
