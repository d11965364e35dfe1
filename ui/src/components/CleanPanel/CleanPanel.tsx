import { StartCleanDocument } from '../../api/generated/graphql';
import { titleOf } from '../../graph/names';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { Link } from '../Link/Link';
import { Note } from '../Note/Note';
import { type Search, SearchPanel } from '../SearchPanel/SearchPanel';
import { Table } from '../Table/Table';

type Qualities = NonNullable<Search['cleaning']>['before'];

/** Cleans a result: leaves out the records that only its worst rows come from, in a replay, and compares the quality of the rows. */
export function CleanPanel({ dataset }: { dataset: string }) {
  return (
    <SearchPanel
      kind="CLEAN"
      subject={dataset}
      title="Clean the result"
      start="Clean"
      note="Records that only the worst rows come from are left out in a replay, next to the real data. Its result can be put in place afterwards."
      document={StartCleanDocument}
      variables={(field) => ({
        dataset,
        quality: field('quality') ?? '',
        below: field('below') === null ? null : Number(field('below')),
        dryRun: field('plan') !== null,
      })}
      Answer={CleaningAnswer}
    >
      <label className={styles.wide}>
        Quality of a row
        <input
          name="quality"
          required
          spellCheck={false}
          autoComplete="off"
          placeholder="a DuckDB expression, higher is better, such as coverage"
        />
      </label>
      <label>
        Rows are bad below
        <input name="below" type="number" step="any" placeholder="the 10 worst" />
      </label>
      <label>
        <input name="plan" type="checkbox" />
        Only plan it
      </label>
    </SearchPanel>
  );
}

function CleaningAnswer({ search: { cleaning, count, notes } }: { search: Search }) {
  if (!cleaning) return <Note title="The cleaning has no result." />;
  const { steps, before, after, replay, differing } = cleaning;
  const step = steps[0];
  return (
    <>
      <p>
        {step
          ? `${count === 1 ? '1 record' : `${count.toLocaleString('en')} records`} of ${titleOf(step.dataset)} ${count === 1 ? 'is' : 'are'} behind bad rows alone.`
          : 'No step has records that only bad rows come from.'}
        {!after && ' Nothing has run.'}
      </p>
      <Table
        label="Quality of the rows"
        titles={['Result', 'Rows', 'Bad', 'Least', 'Median', 'Mean']}
        rows={[
          { key: 'before', cells: ['before', ...cellsOf(before)] },
          ...(after ? [{ key: 'after', cells: ['after', ...cellsOf(after)] }] : []),
        ]}
      />
      <Table
        label="Steps above the result"
        titles={['Step', 'Records of bad rows', 'Also of good rows', 'Remark']}
        rows={steps.map(({ dataset, records, shared, reason }) => ({
          key: dataset,
          cells: [titleOf(dataset), records.toLocaleString('en'), shared.toLocaleString('en'), reason ?? ''],
        }))}
      />
      {replay && (
        <p>
          {differing !== null && `${differing.toLocaleString('en')} rows differ from the real data. `}
          <Link to={{ ...HOME, page: 'replays' }}>The replay can be put in place on the page of replays.</Link>
        </p>
      )}
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </>
  );
}

function cellsOf({ rows, below, least, median, mean }: Qualities): string[] {
  return [rows, below, least, median, mean].map((number) => (number === null ? '–' : number.toLocaleString('en')));
}
