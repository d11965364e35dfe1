import { useQuery } from '@tanstack/react-query';
import { RunsOfJobDocument, StartCompareDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { runFacts } from '../../facts/runs';
import { instantText } from '../../facts/time';
import { titleOf } from '../../graph/names';
import { useSession } from '../../hooks/useSession';
import { Note } from '../Note/Note';
import { Differences } from '../Replays/Differences';
import { type Search, SearchPanel } from '../SearchPanel/SearchPanel';
import { Table } from '../Table/Table';

interface ComparePanelProps {
  /** Id of a complete run. */
  run: string;
  /** Id of its job. */
  job: string;
}

/** The words for the verdicts about a possible cause. */
const VERDICTS: Record<string, string> = {
  SAME: 'the same',
  VERIFIED: 'changes the result',
  NO_EFFECT: 'no effect',
  STATED: 'stated only',
  NOT_CHECKED: 'not checked',
};

/** Attributes the difference between a run and another run of its job to what changed between them. */
export function ComparePanel({ run, job }: ComparePanelProps) {
  const { scopes } = useSession();
  const { data } = useQuery({ ...queryOf(RunsOfJobDocument, { job }), enabled: scopes.includes('replay') });
  const others = (data?.runs.nodes ?? [])
    .filter(({ id }) => id !== run)
    .map(runFacts)
    .filter(({ state }) => state === 'COMPLETE');
  return (
    <SearchPanel
      kind="COMPARE"
      subject={run}
      title="What changed?"
      start="Compare the runs"
      isPossible={others.length > 0}
      note="The program runs again with one part of the other run at a time: its inputs, code, arguments or environment. The real data stays unchanged."
      document={StartCompareDocument}
      variables={(field) => ({ first: field('first') ?? '', second: run, replays: field('stated') === null })}
      Answer={ComparisonAnswer}
    >
      <label>
        Compare with the run of
        <select name="first" required>
          {others.map(({ id, started }) => (
            <option key={id} value={id}>
              {started ? instantText(started) : id}
            </option>
          ))}
        </select>
      </label>
      <label>
        <input name="stated" type="checkbox" />
        Run nothing, state the changes only
      </label>
    </SearchPanel>
  );
}

function ComparisonAnswer({ search: { comparison } }: { search: Search }) {
  if (!comparison) return <Note title="The comparison has no result." />;
  const { results, causes, together, notes } = comparison;
  return (
    <>
      {results.map(({ dataset, rows, isRebuilt, reason, differences }) => (
        <div key={dataset}>
          <p>
            {rows === null
              ? `Whether ${titleOf(dataset)} differs is not known: ${reason}.`
              : `${rows.toLocaleString('en')} rows of ${titleOf(dataset)} differ.`}
            {isRebuilt && ' The data of a run is gone, so a replay of it was compared.'}
          </p>
          <Differences differences={differences} />
        </div>
      ))}
      <Table
        label="Possible causes"
        titles={['Cause', 'Verdict', 'Rows', 'What changed']}
        rows={causes.map(({ kind, verdict, rows, isWhole, changes, reason }) => ({
          key: kind,
          cells: [
            kind.toLowerCase(),
            isWhole ? `${VERDICTS[verdict]}, and explains all of it` : (VERDICTS[verdict] ?? verdict),
            rows === null ? '–' : rows.toLocaleString('en'),
            [...changes, ...(reason ? [reason] : [])].join('. '),
          ],
        }))}
      />
      {together !== null && (
        <p>
          {together
            ? 'All changes together give the result of the other run.'
            : 'All changes together do not give the result of the other run.'}
        </p>
      )}
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </>
  );
}
