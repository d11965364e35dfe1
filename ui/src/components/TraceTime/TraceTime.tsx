import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  BlocksDocument,
  TraceDocument,
  type TraceQuery,
  type TraceQueryVariables,
} from '../../api/generated/first/graphql';
import { queryOf } from '../../api/query';
import { RequestError } from '../../api/request';
import { instantText } from '../../facts/time';
import { amendAddress, navigate } from '../../hooks/useLocation';
import { useSession } from '../../hooks/useSession';
import { definedParts, type Location } from '../../location/location';
import { keyOf, predicateOf } from '../../trace/sameRecord';
import { valuesOf } from '../../trace/values';
import { ErrorNote } from '../Note/Note';
import { RunSlider } from '../RunSlider/RunSlider';
import styles from './TraceTime.module.css';

interface TraceTimeProps {
  location: Location;
  /** Id of the dataset of the record. */
  dataset: string;
  trace: TraceQuery['trace'];
  question: TraceQueryVariables;
}

/** Versions on the slider, the latest. */
const VERSIONS = 50;

/** The versions of the traced record: a slider over the runs that wrote its dataset, and the version to compare with. */
export function TraceTime({ location, dataset, trace, question }: TraceTimeProps) {
  const { scopes } = useSession();
  const client = useQueryClient();
  const mayFind = scopes.includes('records');
  const { data } = useQuery({
    ...queryOf(BlocksDocument, { dataset, first: VERSIONS, before: null }),
    enabled: mayFind,
  });
  const values = valuesOf(trace.selected[0]?.values);
  const [error, setError] = useState<Error>();
  const [isFinding, setFinding] = useState(false);
  const versions = (data?.blocks.blocks ?? []).toReversed();
  const key = keyOf(values, trace.path, dataset, location.keys);
  if (versions.length < 2 || Object.keys(values).length === 0) return null;
  const runs = versions.map(({ run }) => run);
  const last = versions.length - 1;
  const place = runs.indexOf(location.version ?? '');
  const ticks = runs.map((run) => ({ run, hasFailed: false }));
  const words = (index: number) => {
    const version = versions[index];
    return version ? `written ${instantText(version.writtenAt)}${index === last ? ', the current version' : ''}` : '';
  };
  /** Open the record with the same key in another version. */
  const open = async (index: number) => {
    const version = runs[index];
    if (version === undefined || index === place) return;
    setError(undefined);
    setFinding(true);
    try {
      const asked = { ...question, rows: null, where: predicateOf(values, key), asOf: version };
      const { selected } = (await client.fetchQuery(queryOf(TraceDocument, asked))).trace;
      const [record] = selected;
      if (!record || selected.length > 1) throw notOne(selected.length, key);
      navigate({ ...location, version, ...definedParts({ file: record.file ?? undefined, row: Number(record.row) }) });
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)));
    } finally {
      setFinding(false);
    }
  };
  const compare = (version: string | undefined) => navigate(definedParts<Location>({ ...location, compare: version }));
  const current = place < 0 ? last : place;
  const compared = runs.indexOf(location.compare ?? '');
  return (
    <fieldset className={styles.time} aria-busy={isFinding}>
      <legend className="visually-hidden">Versions of the record</legend>
      <span>As of</span>
      <RunSlider
        label="Version of the record"
        ticks={ticks}
        max={last}
        value={current}
        words={words}
        onChange={(index) => open(index)}
      />
      <label>
        <input
          type="checkbox"
          checked={location.compare !== undefined}
          disabled={location.compare === undefined && (key.length === 0 || current === 0)}
          onChange={() => compare(location.compare === undefined ? runs[Math.max(0, current - 1)] : undefined)}
        />
        Changes since
      </label>
      {location.compare !== undefined && (
        <RunSlider
          label="Version to compare with"
          ticks={ticks}
          max={last}
          value={Math.max(0, compared)}
          words={words}
          onChange={(index) => compare(runs[index])}
        />
      )}
      <KeyChoice names={Object.keys(values)} value={key} onChange={(keys) => amendAddress({ ...location, keys })} />
      {error && <ErrorNote error={error} />}
    </fieldset>
  );
}

function notOne(count: number, key: readonly string[]): RequestError {
  const columns = key.length === 0 ? 'no key columns' : `these values of ${key.join(', ')}`;
  return new RequestError(
    count === 0 ? `That version has no record with ${columns}.` : `That version has several records with ${columns}.`,
    { hint: 'Choose the columns that identify the record.', transient: false },
  );
}

interface KeyChoiceProps {
  names: readonly string[];
  value: readonly string[];
  onChange: (names: readonly string[]) => void;
}

/** The columns whose values identify the record in other versions. */
function KeyChoice({ names, value, onChange }: KeyChoiceProps) {
  return (
    <details className={styles.key}>
      <summary>
        {value.length === 0 ? 'Choose the columns that identify the record' : `Same record by ${value.join(', ')}`}
      </summary>
      {names.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={value.includes(name)}
            onChange={() => onChange(value.includes(name) ? value.filter((each) => each !== name) : [...value, name])}
          />
          {name}
        </label>
      ))}
    </details>
  );
}
