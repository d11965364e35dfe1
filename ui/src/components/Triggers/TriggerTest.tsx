import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { TestTriggerDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Causes } from './Causes';

const DAY_MS = 24 * 3600 * 1000;
const PERIODS = [
  { days: 1, label: 'the last day' },
  { days: 7, label: 'the last week' },
  { days: 30, label: 'the last 30 days' },
] as const;

/** Shows when a trigger would have fired in the past. */
export function TriggerTest({ name }: { name: string }) {
  const { token } = useSession();
  const [since, setSince] = useState<string>();
  const { data, error, isFetching } = useQuery({
    ...queryOf(TestTriggerDocument, { name, since: since ?? '', until: null }, token),
    enabled: since !== undefined,
  });
  const { causes = [], notes = [] } = data?.testTrigger ?? {};
  return (
    <section className={styles.section} aria-labelledby="test">
      <h2 id="test">Test against history</h2>
      <p className={styles.lead}>Shows when the trigger would have fired. Nothing runs.</p>
      <form
        className={styles.form}
        aria-label="Test the trigger"
        onSubmit={(event) => setSince(new Date(Date.now() - Number(readForm(event)('days')) * DAY_MS).toISOString())}
      >
        <label>
          Period
          <select name="days" defaultValue={30}>
            {PERIODS.map(({ days, label }) => (
              <option key={days} value={days}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" disabled={isFetching}>
          Test
        </button>
      </form>
      {isFetching && <Skeleton label="Testing the trigger" rows={3} />}
      {error && <ErrorNote error={error} />}
      {notes.map((note) => (
        <Note key={note} tone="warn">
          {note}
        </Note>
      ))}
      {data && causes.length === 0 && <p role="status">The trigger would not have fired.</p>}
      {causes.length > 0 && (
        <>
          <p role="status">The trigger would have fired {causes.length === 1 ? 'once' : `${causes.length} times`}.</p>
          <Causes label="Causes of the test" causes={causes} />
        </>
      )}
    </section>
  );
}
