import { useQuery } from '@tanstack/react-query';
import { ExplainDocument, type ExplainQuery, StartBlameDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import { tracedRecord } from '../../location/location';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { CleanPanel } from '../CleanPanel/CleanPanel';
import { ErrorNote, Note } from '../Note/Note';
import { SearchPanel } from '../SearchPanel/SearchPanel';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';
import { WitnessPanel } from '../WitnessPanel/WitnessPanel';

type Source = ExplainQuery['explain']['sources'][number];

/** The tab of a dataset that explains wrong rows, and finds the records to blame for them. */
export function WhyPage({ dataset, location }: DatasetPageProps) {
  const { where } = location;
  const record = tracedRecord(location);
  return (
    <div className={styles.tab}>
      <section className={styles.section} aria-labelledby="why">
        <h2 id="why">Why?</h2>
        <p className={styles.lead}>
          Select the wrong rows. The answer says what the records behind them have in common, and the records behind
          other rows do not.
        </p>
        <form
          className={styles.form}
          aria-label="Wrong rows"
          onSubmit={(event) => {
            const { file: _, row: __, ...rest } = location;
            navigate({ ...rest, where: readForm(event)('where') ?? '' });
          }}
        >
          <label className={styles.wide}>
            Wrong rows are those where
            <input
              key={where}
              name="where"
              required
              defaultValue={where}
              spellCheck={false}
              autoComplete="off"
              placeholder="a DuckDB predicate, such as max_wind_mph > 250"
            />
          </label>
          <fieldset>
            <button type="submit">Explain</button>
          </fieldset>
        </form>
        {record && !where && <p>{`The wrong row is row ${record.row} of ${record.file.replace(/^file:/, '')}.`}</p>}
        {(where || record) && <Explanations dataset={dataset} where={where} record={record} />}
      </section>
      {where && (
        <>
          <section className={styles.section} aria-label="Records to blame">
            <Blame dataset={dataset} where={where} />
          </section>
          <section className={styles.section} aria-label="Records that give a row">
            <WitnessPanel dataset={dataset} where={where} />
          </section>
        </>
      )}
      <section className={styles.section} aria-label="Clean the result">
        <CleanPanel dataset={dataset} />
      </section>
    </div>
  );
}

/** A share with three digits, rounded down: only the whole is 1.000. */
function shareText(share: number): string {
  return (Math.floor(share * 1000) / 1000).toFixed(3);
}

interface ExplanationsProps {
  dataset: string;
  where: string | undefined;
  record: ReturnType<typeof tracedRecord>;
}

function Explanations({ dataset, where, record }: ExplanationsProps) {
  const { token } = useSession();
  const rows = !where && record ? [{ file: record.file, row: record.row }] : null;
  const { data, error, isPending, refetch } = useQuery(
    queryOf(ExplainDocument, { dataset, bad: where || null, rows, without: null }, token),
  );
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (isPending) return <Skeleton label="Looking for conditions" rows={4} />;
  const { sources, exact, incomplete } = data.explain;
  return (
    <>
      {sources.every(({ explanations }) => explanations.length === 0) && (
        <Note title="No condition separates the records behind the wrong rows from the others.">
          The rows may have nothing in common, or every record may be behind both.
        </Note>
      )}
      {sources.map((source) => (
        <SourceConditions key={source.dataset} source={source} />
      ))}
      {!exact && (
        <Note title="Other records may be behind the rows.">
          {incomplete.map(({ what, reason }) => `${what}: ${reason}`).join('. ')}
        </Note>
      )}
    </>
  );
}

function SourceConditions({ source }: { source: Source }) {
  const { dataset, bad, good, explanations, hidden, isComplete } = source;
  const name = dataset.split(':').slice(2).map(decodeURIComponent).join(':');
  return (
    <>
      {explanations.length > 0 && (
        <Table
          label={`Conditions on ${name}`}
          titles={[name, 'Wrong', 'Other', 'Precision', 'Recall']}
          rows={explanations.map((found) => ({
            key: found.condition,
            cells: [
              <code key="condition">{found.condition}</code>,
              found.bad.toLocaleString('en'),
              found.good.toLocaleString('en'),
              shareText(found.precision),
              shareText(found.recall),
            ],
          }))}
        />
      )}
      <p>
        {`${bad.toLocaleString('en')} records are behind wrong rows, ${good.toLocaleString('en')} behind other rows alone.`}
        {hidden.length > 0 && ` Masked columns are left out: ${hidden.join(', ')}.`}
        {!isComplete && ' The time limit ended the search.'}
      </p>
    </>
  );
}

function Blame({ dataset, where }: { dataset: string; where: string }) {
  return (
    <SearchPanel
      kind="BLAME"
      subject={dataset}
      title="Records to blame"
      start="Find the records to blame"
      note="The programs run again on parts of their input, next to the real data, which stays unchanged."
      document={StartBlameDocument}
      variables={() => ({ dataset, where })}
    />
  );
}
