import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  AuditLogDocument,
  type AuditLogQuery,
  type AuditLogQueryVariables,
  AuditVerificationDocument,
  type Decision,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { fullName } from '../../facts/datasets';
import { readForm } from '../../facts/forms';
import { instantText } from '../../facts/time';
import { parseId } from '../../graph/ids';
import { pathOf } from '../../graph/names';
import styles from '../../styles/sections.module.css';
import { Badge, type Tone } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { ErrorNote, Note } from '../Note/Note';
import { Table } from '../Table/Table';

type Entry = AuditLogQuery['audit']['entries'][number];

const EVERYTHING: AuditLogQueryVariables = { by: null, dataset: null, decision: null, since: null, until: null };
const PAGE_SIZE = 100;
const TONE: Record<string, Tone> = { allowed: 'good', refused: 'warn', failed: 'bad' };

/** The audit log, with a search by person, dataset, time and decision. `dataset` is the first text of the search. */
export function AuditLog({ dataset = null }: { dataset?: string | null }) {
  const [filter, setFilter] = useState({ ...EVERYTHING, dataset });
  const { data, error, refetch } = useQuery(queryOf(AuditLogDocument, filter));
  const { entries, searchedBackTo } = data?.audit ?? {};
  const earliest = searchedBackTo ?? (entries?.length === PAGE_SIZE ? entries.at(-1)?.at : undefined);
  return (
    <section className={styles.section} aria-labelledby="audit">
      <h2 id="audit">Audit log</h2>
      <p className={styles.lead}>
        Reads of records, exports, declarations, replays and refusals, the latest first. Each line is linked to the line
        before, so Verify finds a line that was changed or removed.
      </p>
      <Verification />
      <form
        className={styles.form}
        aria-label="Search the audit log"
        onSubmit={(event) => {
          const field = readForm(event);
          setFilter({
            by: field('by'),
            dataset: field('dataset'),
            decision: field('decision') as Decision | null,
            since: toInstant(field('since')),
            until: toInstant(field('until')),
          });
        }}
      >
        <label>
          Person or key
          <input name="by" maxLength={200} spellCheck={false} />
        </label>
        <label>
          Dataset
          <input name="dataset" defaultValue={dataset ?? ''} maxLength={1000} spellCheck={false} />
        </label>
        <label>
          From
          <input name="since" type="datetime-local" />
        </label>
        <label>
          Until
          <input name="until" type="datetime-local" />
        </label>
        <label>
          Decision
          <select name="decision" defaultValue="">
            <option value="">any</option>
            <option value="ALLOWED">allowed</option>
            <option value="REFUSED">refused</option>
            <option value="FAILED">failed</option>
          </select>
        </label>
        <button type="submit">Search</button>
      </form>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {entries?.length === 0 && <p className={styles.lead}>No entry of the audit log matches.</p>}
      {entries && entries.length > 0 && (
        <Table
          label="Entries of the audit log, latest first"
          titles={['When', 'Who', 'What', 'On', 'Records', 'Decision']}
          // Entries have no id, and each answer replaces all of them.
          rows={entries.map((entry, index) => ({ key: `${index}`, cells: cellsOf(entry) }))}
        />
      )}
      {earliest && (
        <p className={styles.actions}>
          <button type="button" onClick={() => setFilter({ ...filter, until: earliest })}>
            Earlier entries
          </button>
        </p>
      )}
    </section>
  );
}

function cellsOf({ at, who, operation, subjects, more, records, decision, reason }: Entry) {
  return [
    <Instant key="at" at={at} />,
    who ?? 'the service',
    operation,
    subjects.map(subjectText).join(', ') + (more > 0 ? ` and ${more.toLocaleString('en')} more` : ''),
    records?.toLocaleString('en'),
    decision && (
      <Badge key="decision" tone={TONE[decision] ?? 'plain'} title={reason ?? undefined}>
        {decision}
      </Badge>
    ),
  ];
}

/** The service reads files for a verification, so it runs only on request. */
function Verification() {
  const { data, error, isFetching, refetch } = useQuery({ ...queryOf(AuditVerificationDocument, {}), enabled: false });
  const { intact, whole, since, lines, head, breaks } = data?.auditVerification ?? {};
  return (
    <>
      <p className={styles.actions}>
        <button type="button" disabled={isFetching} onClick={() => refetch()}>
          {isFetching ? 'Verifying …' : 'Verify'}
        </button>
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {intact === true && (
        <Note title={`No line was changed or removed ${since ? `since ${instantText(since)}` : 'so far'}.`}>
          <p>
            {lines != null && `${lines.toLocaleString('en')} lines. `}
            {!whole && 'Earlier files were not read. To verify all files: headwater admin audit --verify. '}
            {head && `Head: ${head}`}
          </p>
        </Note>
      )}
      {intact === false && (
        <Note tone="bad" title="The audit log was changed.">
          {breaks?.map(({ file, line, reason }) => (
            <p key={`${file}:${line}`}>
              {file}, line {line}: {reason}.
            </p>
          ))}
        </Note>
      )}
    </>
  );
}

/** The path of a local dataset, and the name of another with its namespace. Other subjects keep their id. */
function subjectText(subject: string): string {
  const { kind, parts } = parseId(subject);
  if (kind !== 'dataset') return subject;
  return parts[0] === 'file' ? pathOf(subject) : fullName(subject);
}

/** The instant that a field with a local time means. */
function toInstant(local: string | null): string | null {
  const time = local === null ? Number.NaN : new Date(local).getTime();
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
