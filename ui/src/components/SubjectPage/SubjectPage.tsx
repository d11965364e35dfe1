import { useQuery } from '@tanstack/react-query';
import { SubjectAccessDocument, type SubjectAccessQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { fullName } from '../../facts/datasets';
import { downloadText } from '../../facts/files';
import { readForm } from '../../facts/forms';
import { counted } from '../../facts/text';
import { titleOf } from '../../graph/names';
import { navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { fileNameOf, recordsAsCsv } from '../../trace/evidence';
import { Badge } from '../Badge/Badge';
import { ExportMenu } from '../ExportMenu/ExportMenu';
import { Incomplete } from '../Incomplete/Incomplete';
import { NodeLink } from '../NodeLink/NodeLink';
import { ErrorNote, Note } from '../Note/Note';
import { ReportHead } from '../ReportHead/ReportHead';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

type Answer = SubjectAccessQuery['subjectAccess'];
type Holder = Answer['datasets'][number];

/** Records in the answer and in its file. The counts have no limit. */
const LISTED = 1000;

/** The tab of a dataset that finds all records that derive from those of a person. */
export function SubjectPage({ dataset, location }: DatasetPageProps) {
  const { where } = location;
  return (
    <div className={styles.tab}>
      <section className={styles.section} aria-labelledby="subject">
        <h2 id="subject">Where the data of a person went</h2>
        <p className={styles.lead}>
          Select the records of a person in this dataset. The answer has all records that derive from them, in every
          dataset.
        </p>
        <form
          className={styles.form}
          aria-label="Records of a person"
          onSubmit={(event) => navigate({ ...location, where: readForm(event)('where') ?? '' })}
        >
          <label className={styles.wide}>
            The records are those where
            <input
              key={where}
              name="where"
              required
              defaultValue={where}
              spellCheck={false}
              autoComplete="off"
              placeholder="a DuckDB predicate, such as customer_id = 42"
            />
          </label>
          <fieldset>
            <button type="submit">Find the records</button>
          </fieldset>
        </form>
        {where && <Records dataset={dataset} where={where} />}
      </section>
    </div>
  );
}

function Records({ dataset, where }: { dataset: string; where: string }) {
  const { token } = useSession();
  const { data, error, refetch } = useQuery({
    ...queryOf(SubjectAccessDocument, { dataset, where, limit: LISTED }, token),
    retry: false,
  });
  if (error) return <ErrorNote error={error} onRetry={() => refetch()} />;
  if (!data) return <Skeleton label="Looking for the records" rows={4} />;
  const { datasets, total, notes, selected, ...answer } = data.subjectAccess;
  const withRecords = datasets.filter(({ records, former }) => records + former > 0).length;
  return (
    <>
      <ReportHead
        facts={[
          ['Question', 'Where did the data of a person go?'],
          ['Dataset', fullName(dataset)],
          ['Records', where],
        ]}
      />
      <p className={styles.lead} role="status">
        {counted(selected.length, 'record')} here fit. {counted(total, 'record')} in {counted(withRecords, 'dataset')}{' '}
        derive from them.{' '}
        <Badge tone={answer.complete ? 'good' : 'warn'} icon={answer.complete ? 'check' : 'warn'}>
          {answer.complete ? 'none is missing' : 'records may be missing'}
        </Badge>
      </p>
      <ExportMenu kinds={exportsOf(dataset, data.subjectAccess)} />
      <Incomplete answer={answer} />
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
      {datasets.length > 0 && (
        <Table
          label="Datasets downstream"
          titles={['Dataset', 'Records now', 'In earlier versions', 'Certainty', 'Why']}
          rows={datasets.map((each) => ({ key: each.dataset, cells: cellsOf(each), isMarked: each.records > 0 }))}
        />
      )}
    </>
  );
}

function cellsOf({ dataset, records, former, coarse, reasons, ...holder }: Holder) {
  return [
    <NodeLink key="dataset" id={dataset} />,
    coarse ? 'any' : records.toLocaleString('en'),
    former.toLocaleString('en'),
    certaintyOf({ coarse, ...holder }),
    reasons.join(' '),
  ];
}

function certaintyOf({ exact, complete, coarse }: Pick<Holder, 'exact' | 'complete' | 'coarse'>): string {
  if (coarse) return 'known by dataset only';
  if (!complete) return 'records may be missing';
  return exact ? 'exactly these' : 'none is missing, some may be too many';
}

function exportsOf(dataset: string, answer: Answer) {
  const name = fileNameOf(`records derived from ${titleOf(dataset)}`, answer);
  return [
    {
      label: 'Records as CSV',
      hint: `${answer.records.length.toLocaleString('en')} of ${answer.total.toLocaleString('en')} records with their places`,
      save: () => downloadText(`${name}.csv`, 'text/csv', recordsAsCsv(answer)),
    },
    { label: 'Report', hint: 'To print or to save as PDF', save: () => print() },
  ];
}
