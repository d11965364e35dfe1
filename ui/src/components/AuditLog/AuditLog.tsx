import { type FormEvent, useState } from 'react';
import type { AuditLogQuery, AuditLogQueryVariables, Decision } from '../../api/generated/graphql';
import { instantText } from '../../facts/time';
import { parseId } from '../../graph/ids';
import { useAudit, useAuditVerification } from '../../hooks/useAudit';
import styles from '../AdminPage/AdminPage.module.css';
import { Badge, type Tone } from '../Badge/Badge';
import { ErrorNote, Note } from '../Note/Note';

type Entry = AuditLogQuery['audit']['entries'][number];

const EVERYTHING: AuditLogQueryVariables = { by: null, dataset: null, decision: null, since: null, until: null };
const TONE: Record<string, Tone> = { allowed: 'good', refused: 'warn', failed: 'bad' };

/** Who asked the service what: searched by person, dataset, time and decision, and verified. */
export function AuditLog() {
  const [asked, setAsked] = useState(EVERYTHING);
  const { data, error, refetch } = useAudit(asked);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const stated = new FormData(event.currentTarget);
    const text = (name: string) => String(stated.get(name) ?? '').trim() || null;
    setAsked({
      by: text('by'),
      dataset: text('dataset'),
      decision: text('decision') as Decision | null,
      since: instantOf(text('since')),
      until: instantOf(text('until')),
    });
  };
  const earliest = data?.searchedBackTo ?? (data?.entries.length === 100 ? data.entries.at(-1)?.at : undefined);
  return (
    <section className={styles.section} aria-labelledby="audit">
      <h2 id="audit">Audit log</h2>
      <p className={styles.lead}>
        Who read records, exported, declared or started a replay, and who was refused; latest first. Each line is linked
        to the one before, so Verify finds a line that was changed or removed.
      </p>
      <Verification />
      <form className={styles.form} onSubmit={submit} aria-label="Search the audit log">
        <label>
          Person or key
          <input name="by" maxLength={200} spellCheck={false} />
        </label>
        <label>
          Dataset
          <input name="dataset" maxLength={1000} spellCheck={false} />
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
      {data?.entries.length === 0 && <p className={styles.lead}>No entry of the audit log matches.</p>}
      {data && data.entries.length > 0 && <Entries entries={data.entries} />}
      {earliest && (
        <p className={styles.actions}>
          <button type="button" onClick={() => setAsked({ ...asked, until: earliest })}>
            Earlier entries
          </button>
        </p>
      )}
    </section>
  );
}

function Entries({ entries }: { entries: readonly Entry[] }) {
  return (
    // A table that is wider than the window is scrolled by keys, too.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className={styles.scroll} aria-label="Entries" tabIndex={0}>
      <table aria-label="Entries of the audit log, latest first">
        <thead>
          <tr>
            {['When', 'Who', 'What', 'On', 'Records', 'Decision'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry, place) => (
            // Entries have no id; the list is replaced as a whole.
            // biome-ignore lint/suspicious/noArrayIndexKey: see above
            <tr key={place}>
              <td className={styles.whole}>{instantText(entry.at)}</td>
              <td className={styles.whole}>{entry.who ?? 'the service'}</td>
              <td className={styles.whole}>{entry.operation}</td>
              <td className={styles.long}>
                {entry.subjects.map(subjectText).join(', ')}
                {entry.more > 0 && ` and ${entry.more.toLocaleString('en')} more`}
              </td>
              <td>{entry.records?.toLocaleString('en') ?? ''}</td>
              <td>
                {entry.decision && (
                  <Badge tone={TONE[entry.decision] ?? 'plain'} title={entry.reason ?? undefined}>
                    {entry.decision}
                  </Badge>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Verification() {
  const { data, error, isFetching, refetch } = useAuditVerification();
  const counted = data?.lines == null ? '' : `${data.lines.toLocaleString('en')} lines. `;
  const since = data?.since ? `from ${instantText(data.since)} on` : 'so far';
  return (
    <>
      <p className={styles.actions}>
        <button type="button" disabled={isFetching} onClick={() => refetch()}>
          {isFetching ? 'Verifying …' : 'Verify'}
        </button>
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {data?.intact && (
        <Note title={`No line was changed or removed ${since}.`}>
          <p>
            {counted}
            {!data.whole && 'Earlier files were not looked at: headwater admin audit --verify looks at all. '}
            {data.head && `Head: ${data.head}`}
          </p>
        </Note>
      )}
      {data && !data.intact && (
        <Note tone="bad" title="The audit log is not as it was written.">
          {data.breaks.map((one) => (
            <p key={`${one.file}:${one.line}`}>
              {one.file}, line {one.line}: {one.reason}.
            </p>
          ))}
        </Note>
      )}
    </>
  );
}

/** A dataset by its path; other things by their id. */
function subjectText(subject: string): string {
  const { kind, parts } = parseId(subject);
  return kind === 'dataset' && parts[0] === 'file' ? (parts.at(-1) ?? subject) : subject;
}

/** What a field for a time says, in the browser's zone, as an instant. */
function instantOf(local: string | null): string | null {
  const time = local === null ? Number.NaN : new Date(local).getTime();
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
