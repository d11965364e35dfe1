import { useQuery } from '@tanstack/react-query';
import { type RefObject, Suspense, useMemo, useRef } from 'react';
import { TraceDocument, type TraceQuery, type TraceQueryVariables } from '../../api/generated/first/graphql';
import { queryOf } from '../../api/query';
import { RequestError } from '../../api/request';
import { asSentence } from '../../facts/text';
import { columnsByDataset, columnTrail } from '../../graph/columns';
import { mergeGraphs } from '../../graph/flow';
import { columnId } from '../../graph/ids';
import { baseName, listDatasets, pathOf, titleOf } from '../../graph/names';
import { endsOf, highlightOf } from '../../graph/path';
import { captionsOf, groupRecords, numberOf, type RecordGroup } from '../../graph/records';
import type { Scene } from '../../graph/scene';
import type { LineageGraph as Graph } from '../../graph/types';
import { useFlowDraft } from '../../hooks/useDraft';
import { useLineage } from '../../hooks/useLineage';
import { navigate } from '../../hooks/useLocation';
import { useTarget } from '../../hooks/useTarget';
import { traceVariables, useTrace, useVersion } from '../../hooks/useTrace';
import {
  type DirectionChoice,
  definedParts,
  HOME,
  type Location,
  type TracedRecord,
  tracedRecord,
} from '../../location/location';
import { split } from '../../split';
import { keyOf, predicateOf } from '../../trace/sameRecord';
import { sentenceOf } from '../../trace/sentence';
import { joinHighlights, markPathChanges } from '../../trace/traceChanges';
import { valuesOf } from '../../trace/values';
import { Breadcrumb } from '../Breadcrumb/Breadcrumb';
import { FlowGraph } from '../DatasetFlow/FlowGraph';
import { Incomplete } from '../Incomplete/Incomplete';
import { LargeTrace } from '../LargeTrace/LargeTrace';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { RecaptureButton } from '../RecaptureButton/RecaptureButton';
import { Records } from '../Records/Records';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import { SharePanel } from '../SharePanel/SharePanel';
import { Skeleton } from '../Skeleton/Skeleton';
import { type TraceChange, TraceControls } from '../TraceControls/TraceControls';
import { type AnsweredTrace, TraceExport, TraceReport } from '../TraceExport/TraceExport';
import { TraceHead, TraceHeadSkeleton } from '../TraceHead/TraceHead';
import { TraceChanges } from '../TraceTime/TraceChanges';
import { TraceTime } from '../TraceTime/TraceTime';
import styles from './TracePage.module.css';

type Trace = TraceQuery['trace'];

const Ranking = split(async () => (await import('../Ranking/Ranking')).Ranking);
const TraceReplay = split(async () => (await import('../ReplayForm/TraceReplay')).TraceReplay);

interface TracePageProps {
  location: Location;
  record: TracedRecord;
}

const EMPTY: Graph = { nodes: [], edges: [], truncated: 0 };

/** The trace of one record or value. */
export function TracePage({ location, record }: TracePageProps) {
  const target = useTarget(location);
  const sceneRef = useRef<Scene | null>(null);
  const { query, data, isLoading } = useTrace(location, target);
  const { error, refetch } = query;
  useVersion(location, target);
  // The words next to an answer are those of its own question. The address can already contain the next question.
  const trace = data?.answer.trace;
  const answered = data ? answeredLocation(location, data.question) : location;
  const lineage = useLineage(record.dataset, location.direction === 'backward' ? 'UPSTREAM' : 'DOWNSTREAM');
  const around = lineage.data ?? EMPTY;
  const path = pathOf(record.dataset);
  const place = placeWithin(trace, record);
  const here = `${place}${location.column ? ` · ${location.column}` : ''}`;
  const rowsOf = { ...HOME, dataset: record.dataset, ...(location.where ? { where: location.where } : {}) };

  const targets = useMemo(() => listDatasets(around.nodes).filter(({ id }) => id !== record.dataset), [around, record]);

  return (
    <div className={styles.page}>
      <header>
        <Breadcrumb steps={[{ label: 'Datasets', to: HOME }, { label: baseName(path), to: rowsOf }, { label: here }]} />
        <div aria-live="polite">
          {isLoading && !error && <TraceHeadSkeleton />}
          {data && !isLoading && !error && <Head answered={data} location={answered} place={place} />}
        </div>
      </header>
      <TraceControls
        semantics={location.semantics}
        direction={location.direction}
        to={target.to}
        usual={target.usual}
        targets={targets}
        onChange={(change) => navigate(changed(location, change))}
      >
        {data && !isLoading && <TraceExport answered={data} place={place} sceneRef={sceneRef} />}
        {trace && <SharePanel location={location} record={record} dataset={path} to={target.to && pathOf(target.to)} />}
      </TraceControls>
      {error && (
        <Failure
          error={error}
          location={location}
          variables={traceVariables(location, target)}
          onRetry={() => refetch()}
        />
      )}
      {isLoading && !trace && !error && <Skeleton label="Loading the records" rows={12} />}
      {trace && !error && (
        <div className={`${styles.answer} ${isLoading ? styles.loading : ''}`} inert={isLoading} aria-busy={isLoading}>
          <Answer
            trace={trace}
            to={data?.question.to ?? undefined}
            location={answered}
            dataset={record.dataset}
            around={around}
            sceneRef={sceneRef}
            question={data.question}
          />
        </div>
      )}
    </div>
  );
}

interface FailureProps {
  error: Error;
  location: Location;
  variables: TraceQueryVariables;
  onRetry: () => void;
}

/** A trace without an answer: the service can answer a large one as a job. */
function Failure({ error, location, variables, onRetry }: FailureProps) {
  if (error instanceof RequestError && error.detail.code === 'LargeTraceError')
    return <LargeTrace variables={variables} reason={error.message} onAnswer={onRetry} />;
  return (
    <>
      <ErrorNote error={error} onRetry={onRetry} />
      <OtherVersion location={location} />
    </>
  );
}

/** If the address names a version, a link to the same place in the current version. */
function OtherVersion({ location }: { location: Location }) {
  if (!location.version) return null;
  return (
    <p className={styles.current}>
      The address names the version of {location.version.replace(/^run:/, 'run ')}.{' '}
      <Link to={definedParts<Location>({ ...location, version: undefined })}>Ask about the current version</Link>
    </p>
  );
}

/** The number of the traced record. The number of its line is unknown until the answer is loaded. */
function placeWithin(trace: Trace | undefined, { row }: TracedRecord): string {
  const selected = trace?.selected[0];
  return selected?.row === row ? numberOf(selected) : trace ? `row ${row}` : 'one record';
}

interface HeadProps {
  answered: AnsweredTrace;
  location: Location;
  /** The number of the traced record. */
  place: string;
}

function Head({ answered: { question, answer }, location, place }: HeadProps) {
  const { trace } = answer;
  const { column, semantics, direction } = location;
  const groups = groupRecords(trace.records);
  const coarse = groups.filter((group) => group.coarse.length > 0);
  const sentence = sentenceOf({
    dataset: titleOf(location.dataset ?? ''),
    place,
    column,
    value: column === undefined ? undefined : valuesOf(trace.selected[0]?.values)[column],
    semantics,
    direction,
    records: trace.total - coarse.reduce((sum, group) => sum + group.coarse.length, 0),
    datasets: datasetNames(trace, groups, direction),
    coarse: coarse.map((group) => titleOf(group.dataset)),
  });
  return (
    <>
      <TraceHead
        sentence={sentence}
        semantics={semantics}
        direction={direction}
        exact={trace.exact}
        elapsedMs={trace.elapsedMs}
        asOf={trace.asOf}
      />
      <TraceReport question={question} place={place} />
    </>
  );
}

/** The datasets of the records. If the list of records is cut, the ends of the path. */
function datasetNames(trace: Trace, groups: readonly RecordGroup[], direction: DirectionChoice): string[] {
  if (trace.total > trace.records.length) return endsOf(trace.path, direction).map(titleOf);
  return groups.filter((group) => group.records.length > 0).map((group) => titleOf(group.dataset));
}

interface AnswerProps {
  trace: Trace;
  location: Location;
  /** Id of the target dataset. */
  to: string | undefined;
  dataset: string;
  /** The lineage around the trace. */
  around: Graph;
  sceneRef: RefObject<Scene | null>;
  question: TraceQueryVariables;
}

const EXTENTS = [
  { value: 'path', label: 'Only the path' },
  { value: 'all', label: 'The surroundings' },
] as const;

function Answer({ trace, to, location, dataset, around, sceneRef, question }: AnswerProps) {
  const { column, direction } = location;
  const { before, error: earlierError } = useEarlierTrace(trace, question, location);
  const graph = useMemo(
    () => mergeGraphs(trace.graph, around, ...(before ? [before.graph] : [])),
    [trace.graph, around, before],
  );
  const groups = useMemo(
    () => groupRecords(trace.records, trace.total, to ? [to] : endsOf(trace.path, direction)),
    [trace, to, direction],
  );
  const highlight = useMemo(
    () => highlightOf(trace.path, [dataset, ...groups.map((group) => group.dataset)]),
    [trace.path, dataset, groups],
  );
  const trail = useMemo(
    () => (column === undefined ? new Set<string>() : columnTrail(trace.graph, columnId(dataset, column), direction)),
    [trace.graph, dataset, column, direction],
  );
  const captions = useMemo(
    () => captionsOf([...groups, ...groupRecords(trace.selected)], trace.path),
    [groups, trace.selected, trace.path],
  );
  const short = useMemo(() => new Map(listDatasets(graph.nodes).map(({ id, name }) => [id, name])), [graph]);
  const beforePath = useMemo(() => before && highlightOf(before.path, [dataset]), [before, dataset]);
  const joined = useMemo(
    () => (beforePath ? joinHighlights(highlight, beforePath) : highlight),
    [highlight, beforePath],
  );
  const drawn = useFlowDraft({
    graph,
    focus: dataset,
    highlight: joined,
    captions,
    growth: location.grown,
    isPathOnly: !location.around,
    isFormerShown: location.former ?? false,
  });
  const draft = useMemo(
    () => (beforePath ? markPathChanges(drawn, highlight, beforePath) : drawn),
    [drawn, highlight, beforePath],
  );
  const lines = useMemo(() => ({ hops: trace.path, columns: trail }), [trace.path, trail]);
  const value = column === undefined ? undefined : valuesOf(trace.selected[0]?.values)[column];
  const record = tracedRecord(location);
  const aggregate = direction === 'backward' ? aggregateOf(trace.path, dataset, column) : undefined;

  return (
    <>
      <Incomplete answer={trace} />
      {trace.recapturable.map((output) => (
        <RecaptureButton key={output} dataset={output} />
      ))}
      {direction === 'backward' && <TraceTime {...{ location, dataset, trace, question }} />}
      {earlierError && <Note title="The earlier version cannot be compared.">{asSentence(earlierError.message)}</Note>}
      {before && <TraceChanges now={trace} before={before} column={column} />}
      <FlowGraph draft={draft} location={location} trace={lines} sceneRef={sceneRef}>
        <SegmentedControl
          label="How much is drawn"
          options={EXTENTS}
          value={location.around ? 'all' : 'path'}
          onChange={(extent) => navigate({ ...location, around: extent === 'all' })}
        />
      </FlowGraph>
      <Suspense fallback={null}>
        {aggregate && record && column !== undefined && <Ranking record={record} column={column} run={aggregate.run} />}
        {direction === 'backward' && trace.exact && (
          <TraceReplay groups={groups} selected={trace.selected} output={dataset} location={location} />
        )}
      </Suspense>
      <Records
        direction={direction}
        selected={trace.selected}
        groups={groups}
        total={trace.total}
        hops={trace.path}
        traced={columnsByDataset(trail)}
        clicked={value === undefined ? undefined : { value }}
        nameOf={(id) => short.get(id) ?? titleOf(id)}
      />
    </>
  );
}

/** The step of the path in which an aggregate made the traced value. */
function aggregateOf(path: Trace['path'], dataset: string, column: string | undefined) {
  const isMade = ({ operator, made }: Trace['path'][number]['expressions'][number]) =>
    operator === 'Aggregate' && made.some((each) => each.column === column);
  return path.find(
    ({ output, grain, expressions }) => output === dataset && grain === 'RECORD' && expressions.some(isMade),
  );
}

/** The trace of the same record in an earlier version. */
function useEarlierTrace(trace: Trace, question: TraceQueryVariables, { compare: version, keys }: Location) {
  const values = valuesOf(trace.selected[0]?.values);
  const where = predicateOf(values, keyOf(values, trace.path, question.dataset, keys));
  const { data, error } = useQuery({
    ...queryOf(TraceDocument, { ...question, rows: null, where, asOf: version ?? null }),
    enabled: version !== undefined && where !== '' && !question.forward,
  });
  return { before: data?.trace, error };
}

/** The location with the parts of the question that an answer answers. */
function answeredLocation(location: Location, { semantics, forward }: TraceQueryVariables): Location {
  return {
    ...location,
    semantics: semantics === 'WITNESS' ? 'witness' : 'influence',
    direction: forward ? 'forward' : 'backward',
  };
}

/** The location after a change of the question. A new direction starts without a target. A replay belongs to the question before. */
function changed({ to, replay: _, ...location }: Location, change: TraceChange): Location {
  const turned = change.direction !== undefined && change.direction !== location.direction;
  const target = change.to ?? (turned ? undefined : to);
  return {
    ...location,
    ...(change.semantics && { semantics: change.semantics }),
    ...(change.direction && { direction: change.direction }),
    ...(target && { to: target }),
  };
}
