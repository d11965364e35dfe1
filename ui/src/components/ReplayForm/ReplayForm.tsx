import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import {
  ReplayDryRunDocument,
  ReplaysDocument,
  type RowRef,
  StartReplayDocument,
  type StartReplayMutationVariables,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { schemaOf } from '../../facts/schema';
import { listDatasets } from '../../graph/names';
import { countText } from '../../graph/records';
import { useChange } from '../../hooks/useChange';
import { useLineage, useNode } from '../../hooks/useLineage';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { ErrorNote } from '../Note/Note';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import { Skeleton } from '../Skeleton/Skeleton';
import { DryRun } from './DryRun';
import { Edits, editsOf } from './Edits';
import { KINDS, type KindOption } from './kinds';

const NOTHING = { output: null, dataset: null, where: null, rows: null, edits: null };

/** Records that are already selected, for example by a trace. */
export interface Selection {
  dataset: string;
  rows: readonly RowRef[];
}

interface ReplayFormProps {
  /** Id of the dataset to compute again. */
  output: string;
  /** Selected records of a source. Without them, the form asks for a predicate. */
  source?: Selection | undefined;
  /** Selected rows of the output. */
  target?: Selection | undefined;
  /** Called with the id of the replay. */
  onStart: (id: string) => void;
}

/** The form that starts a replay of any kind. */
export function ReplayForm({ output, source, target, onStart }: ReplayFormProps) {
  const [kind, setKind] = useState<KindOption>(
    () => KINDS.find(({ parts }) => !source || parts.includes('records')) as KindOption,
  );
  const [dataset, setDataset] = useState(source?.dataset);
  const start = useChange(StartReplayDocument, {
    stale: [ReplaysDocument],
    onSuccess: ({ startReplay }) => onStart(startReplay.id),
  });
  const [checked, setChecked] = useState<StartReplayMutationVariables>();
  const { token } = useSession();
  const dryRun = useQuery({
    ...queryOf(ReplayDryRunDocument, checked ?? { ...NOTHING, kind: kind.kind }, token),
    enabled: checked !== undefined,
    gcTime: 0,
  });
  const error = start.error ?? (checked ? dryRun.error : null);
  const { data: lineage } = useLineage(output, 'UPSTREAM');
  const sources = listDatasets(lineage?.nodes ?? []).filter(({ id }) => id !== output);
  const hasSource = kind.parts.includes('source');
  const selection = [source, target].find((each) => each?.dataset === (hasSource ? dataset : output));
  const makeRequest = (event: FormEvent<HTMLFormElement>): StartReplayMutationVariables => {
    const field = readForm(event);
    return {
      kind: kind.kind,
      output: kind.isSource ? null : output,
      dataset: kind.isSource ? output : hasSource ? (dataset ?? null) : null,
      where: field('where'),
      rows: kind.parts.includes('records') && selection ? [...selection.rows] : null,
      edits: kind.parts.includes('edits') ? editsOf(event.currentTarget) : null,
    };
  };
  return (
    <form
      className={styles.form}
      aria-label="Run again"
      onChange={() => setChecked(undefined)}
      onSubmit={(event) => {
        const request = makeRequest(event);
        if ((event.nativeEvent as SubmitEvent).submitter?.getAttribute('name') === 'check') {
          start.reset();
          setChecked(request);
        } else start.mutate(request);
      }}
    >
      <fieldset>
        <legend>Kind of replay</legend>
        <SegmentedControl
          label="Kind of replay"
          options={KINDS.map(({ value, label, effect }) => ({ value, label, title: effect }))}
          value={kind.value}
          onChange={(value) => setKind(KINDS.find((each) => each.value === value) ?? kind)}
        />
      </fieldset>
      <fieldset>
        <p role="status">{kind.effect} The result goes to a shadow folder. The real data stays unchanged.</p>
      </fieldset>
      {hasSource && (
        <label>
          Source
          <select required value={dataset ?? ''} onChange={(event) => setDataset(event.target.value)}>
            <option value="" disabled>
              Select a dataset
            </option>
            {sources.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {kind.parts.includes('records') &&
        (selection ? (
          <p>Selected: {countText(selection.rows.length)}</p>
        ) : (
          <label className={styles.wide}>
            {hasSource ? 'Records of the source where' : 'Rows of this dataset where'}
            <input name="where" required spellCheck={false} autoComplete="off" placeholder="a DuckDB predicate" />
          </label>
        ))}
      {kind.parts.includes('edits') && <SourceEdits key={dataset} dataset={dataset} />}
      <fieldset>
        {/* The first button is the one that Enter presses. */}
        <button type="submit" name="check" disabled={dryRun.isFetching}>
          Dry run
        </button>
        <button type="submit" disabled={start.isPending}>
          Start the replay
        </button>
      </fieldset>
      {dryRun.isFetching && <Skeleton label="Planning the replay" rows={3} />}
      {checked && dryRun.data && <DryRun summary={dryRun.data.replayDryRun} />}
      {error && (
        <fieldset>
          <ErrorNote error={error} />
        </fieldset>
      )}
    </form>
  );
}

function SourceEdits({ dataset }: { dataset: string | undefined }) {
  const { data } = useNode(dataset ?? '');
  return <Edits columns={schemaOf(data?.properties).map(({ name }) => name)} />;
}
