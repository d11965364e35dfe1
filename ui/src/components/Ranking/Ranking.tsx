import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { RankInputsDocument, type RankInputsQuery } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { asSentence } from '../../facts/text';
import { placeOf } from '../../graph/records';
import { useSession } from '../../hooks/useSession';
import { HOME, type TracedRecord } from '../../location/location';
import controls from '../../styles/controls.module.css';
import sections from '../../styles/sections.module.css';
import { formatValue, valuesOf } from '../../trace/values';
import { Incomplete } from '../Incomplete/Incomplete';
import { Link } from '../Link/Link';
import { Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { SortedTable } from '../Table/SortedTable';

type Ranked = RankInputsQuery['rankInputs']['records'][number];

const SHOWN = 200;
/** Columns of the records that the table shows, those that the function combines first. The trace above has all of them. */
const MOST_COLUMNS = 6;

interface RankingProps {
  record: TracedRecord;
  /** The traced column. */
  column: string;
  /** The run of the traced version. */
  run: string;
}

/** Ranks the input records of an aggregated value by how much the value would change without each of them. */
export function Ranking(props: RankingProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section aria-label="Ranks of the inputs" className={isOpen ? sections.section : undefined}>
      <div className={controls.offer}>
        <button type="button" className={controls.button} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Rank the inputs by what each changes
        </button>
      </div>
      {isOpen && <Ranks {...props} />}
    </section>
  );
}

function Ranks({ record: { dataset, file, row }, column, run }: RankingProps) {
  const { token } = useSession();
  const { data, error } = useQuery({
    ...queryOf(RankInputsDocument, { dataset, column, row: { file, row }, first: SHOWN }, token),
    retry: false,
  });
  if (error) return <Note title="The inputs of this value are not ranked.">{asSentence(error.message)}</Note>;
  if (!data) return <Skeleton label="Ranking the inputs" rows={4} />;
  const { records, total, value, notes, ...answer } = data.rankInputs;
  if (answer.run !== run)
    return (
      <Note title="The inputs of this value are not ranked.">
        The row is that of an earlier version. Only the inputs of the current version are ranked.
      </Note>
    );
  const columns = [...new Set(records.flatMap((each) => Object.keys(valuesOf(each.record.values))))];
  const isCombined = (name: string) => answer.function.includes(name);
  const shown = [...columns.filter(isCombined), ...columns.filter((name) => !isCombined(name))].slice(0, MOST_COLUMNS);
  return (
    <>
      <p className={sections.lead} role="status">
        <code>{answer.function}</code> is {formatValue(value)}, computed from {total.toLocaleString('en')}{' '}
        {total === 1 ? 'record' : 'records'}.
        {total > records.length && ` The table has the ${records.length.toLocaleString('en')} with the largest change.`}
      </p>
      <Incomplete answer={answer} />
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
      <SortedTable
        label="Inputs of the value, the largest change first"
        // The space keeps a column of the data apart from one of the ranking with the same name.
        titles={['Record', 'Rank', 'Without it', 'Change', ...shown.map((name) => `${name} `)]}
        rows={records.map((each, index) => rowOf(each, index + 1, shown))}
      />
    </>
  );
}

function rowOf({ record, without, change, isRowGone }: Ranked, rank: number, columns: readonly string[]) {
  const values = valuesOf(record.values);
  const place = placeOf(record);
  const { dataset, file, row } = record;
  const link = file !== null && row !== null && { ...HOME, dataset, file, row };
  return {
    key: `${dataset} ${file} ${row}`,
    values: [place, rank, isRowGone ? null : without, change, ...columns.map((name) => values[name])],
    cells: [
      link ? (
        <Link key="record" to={link}>
          {place}
        </Link>
      ) : (
        place
      ),
      rank,
      isRowGone ? 'no row' : formatValue(without),
      change === null ? '' : formatValue(change),
      ...columns.map((name) => formatValue(values[name])),
    ],
  };
}
