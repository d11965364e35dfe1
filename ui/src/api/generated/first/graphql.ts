/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Keeps what lies on a way between a node of `from` and one of `to`, in either direction. */
export type BetweenInput = {
  from: Array<string>;
  to: Array<string>;
};

/** BASE replaces the dataset. DELTA adds to it or changes it. */
export type BlockMode =
  | 'BASE'
  | 'DELTA'
  | 'UNKNOWN';

/** UPSTREAM is where data came from, DOWNSTREAM where it went. */
export type Direction =
  | 'BOTH'
  | 'DOWNSTREAM'
  | 'UPSTREAM';

/** CONTAINS joins a container and its child; the others are flows of data. */
export type EdgeKind =
  | 'ACCESSES'
  | 'CHECKS'
  | 'CONTAINS'
  | 'DERIVES'
  | 'DESCRIBES'
  | 'LINKS'
  | 'READS'
  | 'REPLAYS'
  | 'WRITES';

/** The grain of an entry of an answer. Any grain but RECORD makes the answer inexact. */
export type Grain =
  | 'DATASET'
  | 'PARTITION'
  | 'RECORD'
  | 'VERSION';

/** What a mask looks at. NAME and NAMESPACE take patterns with * and ?. */
export type MaskBy =
  | 'KIND'
  | 'LAYER'
  | 'NAME'
  | 'NAMESPACE'
  | 'NODE'
  | 'OWNER'
  | 'TAG';

/** Hides nodes that have one of the values; `negated`: those that have none of them. */
export type MaskInput = {
  by: MaskBy;
  negated?: boolean;
  values: Array<string>;
};

/** A level of one of the two containment hierarchies: data and actors. */
export type NodeKind =
  | 'ACTOR'
  | 'CHECK'
  | 'COLUMN'
  | 'DATA'
  | 'DATASET'
  | 'JOB'
  | 'OPERATOR'
  | 'OWNER'
  | 'PARTITION'
  | 'PIPELINE'
  | 'PLATFORM'
  | 'RUN'
  | 'STAGE'
  | 'SYSTEM'
  | 'TAG'
  | 'TASK'
  | 'TERM'
  | 'TYPE'
  | 'VERSION';

/** A container whose inside is shown at a level of its own, finer than the rest. */
export type OpenInput = {
  id: string;
  level: NodeKind;
};

/** How far a replay, one of its steps, or a recapture has come. COMPLETE and FAILED are final. */
export type ReplayState =
  | 'COMPLETE'
  | 'FAILED'
  | 'QUEUED'
  | 'RUNNING';

/** An order of rows by the values of a column, nulls last; it reads all rows that the predicate selects. */
export type RowOrder = {
  column: string;
  descending?: boolean;
};

/** A record, by file and 0-based row. */
export type RowRef = {
  file: string;
  row: number;
};

/** INFLUENCE: every record that had a part. WITNESS: records that suffice to produce the row again. */
export type Semantics =
  | 'INFLUENCE'
  | 'WITNESS';

/** How far a job has come. COMPLETE, FAILED and CANCELLED are final. */
export type TraceJobState =
  | 'CANCELLED'
  | 'COMPLETE'
  | 'FAILED'
  | 'QUEUED'
  | 'RUNNING';

/** A view: focus, direction, levels, masks and time. */
export type ViewInput = {
  actors?: NodeKind;
  asOf?: string | null | undefined;
  between?: BetweenInput | null | undefined;
  data?: NodeKind;
  depth?: number;
  direction?: Direction;
  endsOnly?: boolean;
  focus?: Array<string>;
  masks?: Array<MaskInput>;
  open?: Array<OpenInput>;
  since?: string | null | undefined;
  until?: string | null | undefined;
};

export type ServiceQueryVariables = Exact<{ [key: string]: never; }>;


export type ServiceQuery = { service: { version: string, store: string, nodes: number, runs: number, captures: number, pending: number } };

export type FindQueryVariables = Exact<{
  text: string;
  first: number;
}>;


export type FindQuery = { find: { total: number, counted: boolean, hits: Array<{ namespace: string | null, state: string | null, node: { id: string, kind: NodeKind, name: string } }> } };

export type DatasetListQueryVariables = Exact<{
  text: string;
  states?: Array<string> | string | null | undefined;
  namespaces?: Array<string> | string | null | undefined;
  owners?: Array<string> | string | null | undefined;
  tags?: Array<string> | string | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type DatasetListQuery = { find: { total: number, counted: boolean, complete: boolean, cursor: string | null, hits: Array<{ node: { id: string, name: string, containers: Array<{ id: string, kind: NodeKind, name: string }> } }>, facets: Array<{ name: string, values: Array<{ value: string, count: number }> }> } };

export type LineageQueryVariables = Exact<{
  focus: Array<string> | string;
  direction: Direction;
  depth: number;
  kinds?: Array<EdgeKind> | EdgeKind | null | undefined;
}>;


export type LineageQuery = { lineage: { truncated: number, nodes: Array<{ id: string, kind: NodeKind, name: string, properties: unknown, ledger: { status: string, rows: number | null, bytes: number | null, problems: Array<{ operator: string | null, reason: string }> } | null }>, edges: Array<{ src: string, dst: string, kind: EdgeKind, properties: unknown, former: boolean }> } };

export type LineageShapeQueryVariables = Exact<{
  focus: Array<string> | string;
  direction: Direction;
  depth: number;
  limit: number;
}>;


export type LineageShapeQuery = { lineage: { truncated: number, nodes: Array<{ id: string, kind: NodeKind, name: string }>, edges: Array<{ src: string, dst: string, kind: EdgeKind, former: boolean }> } };

export type NodeQueryVariables = Exact<{
  id: string;
  kinds?: Array<NodeKind> | NodeKind | null | undefined;
  first: number;
}>;


export type NodeQuery = { node: { id: string, kind: NodeKind, name: string, properties: unknown, containers: Array<{ id: string, kind: NodeKind, name: string }>, children: { total: number, nodes: Array<{ id: string, kind: NodeKind, name: string, properties: unknown, ledger: { status: string, rows: number | null, bytes: number | null, problems: Array<{ operator: string | null, reason: string }> } | null }> } } | null };

export type RowsQueryVariables = Exact<{
  dataset: string;
  where?: string | null | undefined;
  order?: RowOrder | null | undefined;
  first: number;
  offset: number;
}>;


export type RowsQuery = { rows: { dataset: string, total: number, hasRecordLineage: boolean, note: string | null, columns: Array<{ name: string, type: string }>, rows: Array<{ file: string, row: number, line: number | null, values: unknown }> } };

export type TraceAnswerFragment = { semantics: Semantics, exact: boolean, total: number, elapsedMs: number, recapturable: Array<string>, records: Array<{ dataset: string, datasetName: string, file: string | null, row: number | null, line: number | null, grain: Grain, values: unknown }>, selected: Array<{ dataset: string, datasetName: string, file: string | null, row: number | null, line: number | null, grain: Grain, values: unknown }>, path: Array<{ job: string, run: string, output: string, inputs: Array<string>, operations: Array<string>, records: number, grain: Grain, recaptured: string | null, expressions: Array<{ operator: string, by: Array<string>, made: Array<{ column: string, expression: string }> }> }>, asOf: { at: string, isRead: boolean } | null, graph: { truncated: number, nodes: Array<{ id: string, kind: NodeKind, name: string, properties: unknown }>, edges: Array<{ src: string, dst: string, kind: EdgeKind, properties: unknown }> }, incomplete: Array<{ what: string, reason: string, effect: string }> };

export type TraceQueryVariables = Exact<{
  dataset: string;
  where?: string | null | undefined;
  rows?: Array<RowRef> | RowRef | null | undefined;
  column?: string | null | undefined;
  semantics: Semantics;
  forward: boolean;
  to?: string | null | undefined;
  limit: number;
  asOf?: string | null | undefined;
}>;


export type TraceQuery = { trace: { semantics: Semantics, exact: boolean, total: number, elapsedMs: number, recapturable: Array<string>, records: Array<{ dataset: string, datasetName: string, file: string | null, row: number | null, line: number | null, grain: Grain, values: unknown }>, selected: Array<{ dataset: string, datasetName: string, file: string | null, row: number | null, line: number | null, grain: Grain, values: unknown }>, path: Array<{ job: string, run: string, output: string, inputs: Array<string>, operations: Array<string>, records: number, grain: Grain, recaptured: string | null, expressions: Array<{ operator: string, by: Array<string>, made: Array<{ column: string, expression: string }> }> }>, asOf: { at: string, isRead: boolean } | null, graph: { truncated: number, nodes: Array<{ id: string, kind: NodeKind, name: string, properties: unknown }>, edges: Array<{ src: string, dst: string, kind: EdgeKind, properties: unknown }> }, incomplete: Array<{ what: string, reason: string, effect: string }> } };

export type StartTraceMutationVariables = Exact<{
  dataset: string;
  rows?: Array<RowRef> | RowRef | null | undefined;
  column?: string | null | undefined;
  semantics: Semantics;
  forward: boolean;
  to?: string | null | undefined;
  limit: number;
  asOf?: string | null | undefined;
}>;


export type StartTraceMutation = { startTrace: { id: string } };

export type TraceJobQueryVariables = Exact<{
  id: string;
}>;


export type TraceJobQuery = { traceJob: { state: TraceJobState, startedAt: string, progress: Array<string>, error: string | null } | null };

export type TraceJobAnswerQueryVariables = Exact<{
  id: string;
}>;


export type TraceJobAnswerQuery = { traceJob: { answer: { semantics: Semantics, exact: boolean, total: number, elapsedMs: number, recapturable: Array<string>, records: Array<{ dataset: string, datasetName: string, file: string | null, row: number | null, line: number | null, grain: Grain, values: unknown }>, selected: Array<{ dataset: string, datasetName: string, file: string | null, row: number | null, line: number | null, grain: Grain, values: unknown }>, path: Array<{ job: string, run: string, output: string, inputs: Array<string>, operations: Array<string>, records: number, grain: Grain, recaptured: string | null, expressions: Array<{ operator: string, by: Array<string>, made: Array<{ column: string, expression: string }> }> }>, asOf: { at: string, isRead: boolean } | null, graph: { truncated: number, nodes: Array<{ id: string, kind: NodeKind, name: string, properties: unknown }>, edges: Array<{ src: string, dst: string, kind: EdgeKind, properties: unknown }> }, incomplete: Array<{ what: string, reason: string, effect: string }> } | null } | null };

export type CancelTraceMutationVariables = Exact<{
  id: string;
}>;


export type CancelTraceMutation = { cancelTrace: { state: TraceJobState } | null };

export type BlocksQueryVariables = Exact<{
  dataset: string;
  first: number;
  before?: number | null | undefined;
}>;


export type BlocksQuery = { blocks: { total: number, before: number | null, blocks: Array<{ sequence: number, run: string, writtenAt: string, mode: BlockMode, snapshot: string | null, files: number | null, rows: number | null, bytes: number | null, hasRecords: boolean }> } };

export type ViewQueryVariables = Exact<{
  view: ViewInput;
  first: number;
}>;


export type ViewQuery = { view: { cursor: string | null, notes: Array<string>, nodes: Array<{ distance: number, members: number, focus: boolean, upstream: boolean, downstream: boolean, wholly: boolean, node: { id: string, kind: NodeKind, name: string, unwritten: boolean, containers: Array<{ id: string, kind: NodeKind, name: string }> } }>, edges: Array<{ src: string, dst: string, weight: number, direct: boolean, via: number | null, former: boolean }>, totals: { nodes: number, edges: number, masked: number, beyond: number } } };

export type RecapturesQueryVariables = Exact<{ [key: string]: never; }>;


export type RecapturesQuery = { recaptures: Array<{ id: string, dataset: string, state: ReplayState, startedAt: string, error: string | null }> };

export type SuspectsQueryVariables = Exact<{
  name: string;
}>;


export type SuspectsQuery = { suspects: Array<{ job: string, run: string, compared: number, runs: number, suspects: Array<{ subject: string, metric: string, value: number, expected: number, chance: number | null, compared: number }> }> };

export type StartRecaptureMutationVariables = Exact<{
  dataset: string;
}>;


export type StartRecaptureMutation = { startRecapture: { id: string } };

export type SavedViewsQueryVariables = Exact<{ [key: string]: never; }>;


export type SavedViewsQuery = { savedViews: Array<{ id: string, name: string, location: string, shared: boolean, mine: boolean, owner: string }> };

export type ChangeViewMutationVariables = Exact<{
  id: string;
  name?: string | null | undefined;
  shared?: boolean | null | undefined;
}>;


export type ChangeViewMutation = { changeView: { id: string } };

export type RemoveViewMutationVariables = Exact<{
  id: string;
}>;


export type RemoveViewMutation = { removeView: { id: string } };

export type DatasetHeadQueryVariables = Exact<{
  id: string;
}>;


export type DatasetHeadQuery = { node: { id: string, properties: unknown, descriptions: { owners: Array<string>, stewards: Array<string>, tags: Array<string>, tagValues: Array<string>, terms: Array<string>, description: string | null, statements: Array<{ aspect: string, value: string, by: string | null, at: string | null, produced: boolean, removed: boolean, overruled: boolean }> } } | null, versions: { nodes: Array<{ id: string, properties: unknown }> } };

export type AboutQueryVariables = Exact<{
  id: string;
}>;


export type AboutQuery = { node: { id: string, properties: unknown, facts: { size: { rows: number | null, bytes: number | null, files: number | null, at: string | null } | null, quality: { passed: number, failed: number } | null }, descriptions: { owners: Array<string>, stewards: Array<string>, tags: Array<string>, tagValues: Array<string>, terms: Array<string>, description: string | null, statements: Array<{ aspect: string, value: string, by: string | null, at: string | null, produced: boolean, removed: boolean, overruled: boolean }> } } | null };

export type RunIdsQueryVariables = Exact<{
  job: string;
  first: number;
}>;


export type RunIdsQuery = { runs: { nodes: Array<{ id: string }> }, failed: { nodes: Array<{ id: string }> } };

export type RunTimesQueryVariables = Exact<{
  runs: Array<string> | string;
}>;


export type RunTimesQuery = { lineage: { edges: Array<{ src: string, dst: string, last: string }> } };

export type ChangedNodeFragment = { id: string, kind: NodeKind, name: string, unwritten: boolean, containers: Array<{ id: string, kind: NodeKind, name: string }> };

export type ViewDifferenceQueryVariables = Exact<{
  view: ViewInput;
  before: string;
  after: string;
}>;


export type ViewDifferenceQuery = { viewDifference: { before: string, after: string, kept: number, notes: Array<string>, nodesAdded: Array<{ id: string, kind: NodeKind, name: string, unwritten: boolean, containers: Array<{ id: string, kind: NodeKind, name: string }> }>, nodesRemoved: Array<{ id: string, kind: NodeKind, name: string, unwritten: boolean, containers: Array<{ id: string, kind: NodeKind, name: string }> }>, edgesAdded: Array<{ src: string, dst: string }>, edgesRemoved: Array<{ src: string, dst: string }> } };

export type ChangedRunsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type ChangedRunsSubscription = { runs: Array<{ id: string }> };

export type FailedRunsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type FailedRunsSubscription = { runs: Array<{ id: string, containers: Array<{ id: string, kind: NodeKind, name: string }> }> };

export type SaveViewMutationVariables = Exact<{
  name: string;
  location: string;
  shared: boolean;
  replace: boolean;
}>;


export type SaveViewMutation = { saveView: { id: string, name: string } };

export type LedgerFragment = { ledger: { status: string, rows: number | null, bytes: number | null, problems: Array<{ operator: string | null, reason: string }> } | null };

export type SizeFragment = { rows: number | null, bytes: number | null, files: number | null, at: string | null };

export type DescribedFragment = { descriptions: { owners: Array<string>, stewards: Array<string>, tags: Array<string>, tagValues: Array<string>, terms: Array<string>, description: string | null, statements: Array<{ aspect: string, value: string, by: string | null, at: string | null, produced: boolean, removed: boolean, overruled: boolean }> } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const TraceAnswerFragmentDoc = new TypedDocumentString(`
    fragment TraceAnswer on Trace {
  semantics
  exact
  total
  elapsedMs
  records {
    dataset
    datasetName
    file
    row
    line
    grain
    values
  }
  selected {
    dataset
    datasetName
    file
    row
    line
    grain
    values
  }
  path {
    job
    run
    output
    inputs
    operations
    records
    grain
    expressions {
      operator
      made {
        column
        expression
      }
      by
    }
    recaptured
  }
  recapturable
  asOf {
    at
    isRead
  }
  graph {
    nodes {
      id
      kind
      name
      properties
    }
    edges {
      src
      dst
      kind
      properties
    }
    truncated
  }
  incomplete {
    what
    reason
    effect
  }
}
    `, {"fragmentName":"TraceAnswer"}) as unknown as TypedDocumentString<TraceAnswerFragment, unknown>;
export const ChangedNodeFragmentDoc = new TypedDocumentString(`
    fragment ChangedNode on Node {
  id
  kind
  name
  unwritten
  containers {
    id
    kind
    name
  }
}
    `, {"fragmentName":"ChangedNode"}) as unknown as TypedDocumentString<ChangedNodeFragment, unknown>;
export const LedgerFragmentDoc = new TypedDocumentString(`
    fragment Ledger on Node {
  ledger {
    status
    problems {
      operator
      reason
    }
    rows
    bytes
  }
}
    `, {"fragmentName":"Ledger"}) as unknown as TypedDocumentString<LedgerFragment, unknown>;
export const SizeFragmentDoc = new TypedDocumentString(`
    fragment Size on DataSize {
  rows
  bytes
  files
  at
}
    `, {"fragmentName":"Size"}) as unknown as TypedDocumentString<SizeFragment, unknown>;
export const DescribedFragmentDoc = new TypedDocumentString(`
    fragment Described on Node {
  descriptions {
    owners
    stewards
    tags
    tagValues
    terms
    description
    statements {
      aspect
      value
      by
      at
      produced
      removed
      overruled
    }
  }
}
    `, {"fragmentName":"Described"}) as unknown as TypedDocumentString<DescribedFragment, unknown>;
export const ServiceDocument = new TypedDocumentString(`
    query Service {
  service {
    version
    store
    nodes
    runs
    captures
    pending
  }
}
    `) as unknown as TypedDocumentString<ServiceQuery, ServiceQueryVariables>;
export const FindDocument = new TypedDocumentString(`
    query Find($text: String!, $first: Int!) {
  find(text: $text, first: $first) {
    hits {
      node {
        id
        kind
        name
      }
      namespace
      state
    }
    total
    counted
  }
}
    `) as unknown as TypedDocumentString<FindQuery, FindQueryVariables>;
export const DatasetListDocument = new TypedDocumentString(`
    query DatasetList($text: String!, $states: [String!], $namespaces: [String!], $owners: [String!], $tags: [String!], $first: Int!, $after: String) {
  find(
    text: $text
    kinds: [DATASET]
    states: $states
    namespaces: $namespaces
    owners: $owners
    tags: $tags
    first: $first
    after: $after
  ) {
    hits {
      node {
        id
        name
        containers {
          id
          kind
          name
        }
      }
    }
    total
    counted
    complete
    cursor
    facets {
      name
      values {
        value
        count
      }
    }
  }
}
    `) as unknown as TypedDocumentString<DatasetListQuery, DatasetListQueryVariables>;
export const LineageDocument = new TypedDocumentString(`
    query Lineage($focus: [ID!]!, $direction: Direction!, $depth: Int!, $kinds: [EdgeKind!]) {
  lineage(focus: $focus, direction: $direction, depth: $depth, kinds: $kinds) {
    nodes {
      id
      kind
      name
      properties
      ...Ledger
    }
    edges {
      src
      dst
      kind
      properties
      former
    }
    truncated
  }
}
    fragment Ledger on Node {
  ledger {
    status
    problems {
      operator
      reason
    }
    rows
    bytes
  }
}`) as unknown as TypedDocumentString<LineageQuery, LineageQueryVariables>;
export const LineageShapeDocument = new TypedDocumentString(`
    query LineageShape($focus: [ID!]!, $direction: Direction!, $depth: Int!, $limit: Int!) {
  lineage(focus: $focus, direction: $direction, depth: $depth, limit: $limit) {
    nodes {
      id
      kind
      name
    }
    edges {
      src
      dst
      kind
      former
    }
    truncated
  }
}
    `) as unknown as TypedDocumentString<LineageShapeQuery, LineageShapeQueryVariables>;
export const NodeDocument = new TypedDocumentString(`
    query Node($id: ID!, $kinds: [NodeKind!], $first: Int!) {
  node(id: $id) {
    id
    kind
    name
    properties
    containers {
      id
      kind
      name
    }
    children(kinds: $kinds, first: $first) {
      nodes {
        id
        kind
        name
        properties
        ...Ledger
      }
      total
    }
  }
}
    fragment Ledger on Node {
  ledger {
    status
    problems {
      operator
      reason
    }
    rows
    bytes
  }
}`) as unknown as TypedDocumentString<NodeQuery, NodeQueryVariables>;
export const RowsDocument = new TypedDocumentString(`
    query Rows($dataset: ID!, $where: String, $order: RowOrder, $first: Int!, $offset: Int!) {
  rows(
    dataset: $dataset
    where: $where
    order: $order
    first: $first
    offset: $offset
  ) {
    dataset
    columns {
      name
      type
    }
    rows {
      file
      row
      line
      values
    }
    total
    hasRecordLineage
    note
  }
}
    `) as unknown as TypedDocumentString<RowsQuery, RowsQueryVariables>;
export const TraceDocument = new TypedDocumentString(`
    query Trace($dataset: String!, $where: String, $rows: [RowRef!], $column: String, $semantics: Semantics!, $forward: Boolean!, $to: String, $limit: Int!, $asOf: String) {
  trace(
    dataset: $dataset
    where: $where
    rows: $rows
    column: $column
    semantics: $semantics
    forward: $forward
    to: $to
    limit: $limit
    asOf: $asOf
  ) {
    ...TraceAnswer
  }
}
    fragment TraceAnswer on Trace {
  semantics
  exact
  total
  elapsedMs
  records {
    dataset
    datasetName
    file
    row
    line
    grain
    values
  }
  selected {
    dataset
    datasetName
    file
    row
    line
    grain
    values
  }
  path {
    job
    run
    output
    inputs
    operations
    records
    grain
    expressions {
      operator
      made {
        column
        expression
      }
      by
    }
    recaptured
  }
  recapturable
  asOf {
    at
    isRead
  }
  graph {
    nodes {
      id
      kind
      name
      properties
    }
    edges {
      src
      dst
      kind
      properties
    }
    truncated
  }
  incomplete {
    what
    reason
    effect
  }
}`) as unknown as TypedDocumentString<TraceQuery, TraceQueryVariables>;
export const StartTraceDocument = new TypedDocumentString(`
    mutation StartTrace($dataset: String!, $rows: [RowRef!], $column: String, $semantics: Semantics!, $forward: Boolean!, $to: String, $limit: Int!, $asOf: String) {
  startTrace(
    dataset: $dataset
    rows: $rows
    column: $column
    semantics: $semantics
    forward: $forward
    to: $to
    limit: $limit
    asOf: $asOf
  ) {
    id
  }
}
    `) as unknown as TypedDocumentString<StartTraceMutation, StartTraceMutationVariables>;
export const TraceJobDocument = new TypedDocumentString(`
    query TraceJob($id: ID!) {
  traceJob(id: $id) {
    state
    startedAt
    progress
    error
  }
}
    `) as unknown as TypedDocumentString<TraceJobQuery, TraceJobQueryVariables>;
export const TraceJobAnswerDocument = new TypedDocumentString(`
    query TraceJobAnswer($id: ID!) {
  traceJob(id: $id) {
    answer {
      ...TraceAnswer
    }
  }
}
    fragment TraceAnswer on Trace {
  semantics
  exact
  total
  elapsedMs
  records {
    dataset
    datasetName
    file
    row
    line
    grain
    values
  }
  selected {
    dataset
    datasetName
    file
    row
    line
    grain
    values
  }
  path {
    job
    run
    output
    inputs
    operations
    records
    grain
    expressions {
      operator
      made {
        column
        expression
      }
      by
    }
    recaptured
  }
  recapturable
  asOf {
    at
    isRead
  }
  graph {
    nodes {
      id
      kind
      name
      properties
    }
    edges {
      src
      dst
      kind
      properties
    }
    truncated
  }
  incomplete {
    what
    reason
    effect
  }
}`) as unknown as TypedDocumentString<TraceJobAnswerQuery, TraceJobAnswerQueryVariables>;
export const CancelTraceDocument = new TypedDocumentString(`
    mutation CancelTrace($id: ID!) {
  cancelTrace(id: $id) {
    state
  }
}
    `) as unknown as TypedDocumentString<CancelTraceMutation, CancelTraceMutationVariables>;
export const BlocksDocument = new TypedDocumentString(`
    query Blocks($dataset: ID!, $first: Int!, $before: Int) {
  blocks(dataset: $dataset, first: $first, before: $before) {
    blocks {
      sequence
      run
      writtenAt
      mode
      snapshot
      files
      rows
      bytes
      hasRecords
    }
    total
    before
  }
}
    `) as unknown as TypedDocumentString<BlocksQuery, BlocksQueryVariables>;
export const ViewDocument = new TypedDocumentString(`
    query View($view: ViewInput!, $first: Int!) {
  view(view: $view, first: $first, edges: 2000) {
    nodes {
      node {
        id
        kind
        name
        unwritten
        containers {
          id
          kind
          name
        }
      }
      distance
      members
      focus
      upstream
      downstream
      wholly
    }
    edges {
      src
      dst
      weight
      direct
      via
      former
    }
    totals {
      nodes
      edges
      masked
      beyond
    }
    cursor
    notes
  }
}
    `) as unknown as TypedDocumentString<ViewQuery, ViewQueryVariables>;
export const RecapturesDocument = new TypedDocumentString(`
    query Recaptures {
  recaptures(first: 20) {
    id
    dataset
    state
    startedAt
    error
  }
}
    `) as unknown as TypedDocumentString<RecapturesQuery, RecapturesQueryVariables>;
export const SuspectsDocument = new TypedDocumentString(`
    query Suspects($name: String!) {
  suspects(name: $name) {
    job
    run
    compared
    runs
    suspects {
      subject
      metric
      value
      expected
      chance
      compared
    }
  }
}
    `) as unknown as TypedDocumentString<SuspectsQuery, SuspectsQueryVariables>;
export const StartRecaptureDocument = new TypedDocumentString(`
    mutation StartRecapture($dataset: String!) {
  startRecapture(dataset: $dataset) {
    id
  }
}
    `) as unknown as TypedDocumentString<StartRecaptureMutation, StartRecaptureMutationVariables>;
export const SavedViewsDocument = new TypedDocumentString(`
    query SavedViews {
  savedViews {
    id
    name
    location
    shared
    mine
    owner
  }
}
    `) as unknown as TypedDocumentString<SavedViewsQuery, SavedViewsQueryVariables>;
export const ChangeViewDocument = new TypedDocumentString(`
    mutation ChangeView($id: ID!, $name: String, $shared: Boolean) {
  changeView(id: $id, name: $name, shared: $shared) {
    id
  }
}
    `) as unknown as TypedDocumentString<ChangeViewMutation, ChangeViewMutationVariables>;
export const RemoveViewDocument = new TypedDocumentString(`
    mutation RemoveView($id: ID!) {
  removeView(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<RemoveViewMutation, RemoveViewMutationVariables>;
export const DatasetHeadDocument = new TypedDocumentString(`
    query DatasetHead($id: ID!) {
  node(id: $id) {
    id
    properties
    ...Described
  }
  versions(dataset: $id, first: 5) {
    nodes {
      id
      properties
    }
  }
}
    fragment Described on Node {
  descriptions {
    owners
    stewards
    tags
    tagValues
    terms
    description
    statements {
      aspect
      value
      by
      at
      produced
      removed
      overruled
    }
  }
}`) as unknown as TypedDocumentString<DatasetHeadQuery, DatasetHeadQueryVariables>;
export const AboutDocument = new TypedDocumentString(`
    query About($id: ID!) {
  node(id: $id) {
    id
    properties
    ...Described
    facts {
      size {
        ...Size
      }
      quality {
        passed
        failed
      }
    }
  }
}
    fragment Size on DataSize {
  rows
  bytes
  files
  at
}
fragment Described on Node {
  descriptions {
    owners
    stewards
    tags
    tagValues
    terms
    description
    statements {
      aspect
      value
      by
      at
      produced
      removed
      overruled
    }
  }
}`) as unknown as TypedDocumentString<AboutQuery, AboutQueryVariables>;
export const RunIdsDocument = new TypedDocumentString(`
    query RunIds($job: ID!, $first: Int!) {
  runs(job: $job, first: $first) {
    nodes {
      id
    }
  }
  failed: runs(job: $job, states: ["FAIL", "ABORT"], first: $first) {
    nodes {
      id
    }
  }
}
    `) as unknown as TypedDocumentString<RunIdsQuery, RunIdsQueryVariables>;
export const RunTimesDocument = new TypedDocumentString(`
    query RunTimes($runs: [ID!]!) {
  lineage(focus: $runs, direction: UPSTREAM, depth: 1, kinds: [CONTAINS]) {
    edges {
      src
      dst
      last
    }
  }
}
    `) as unknown as TypedDocumentString<RunTimesQuery, RunTimesQueryVariables>;
export const ViewDifferenceDocument = new TypedDocumentString(`
    query ViewDifference($view: ViewInput!, $before: String!, $after: String!) {
  viewDifference(view: $view, before: $before, after: $after) {
    before
    after
    nodesAdded {
      ...ChangedNode
    }
    nodesRemoved {
      ...ChangedNode
    }
    edgesAdded {
      src
      dst
    }
    edgesRemoved {
      src
      dst
    }
    kept
    notes
  }
}
    fragment ChangedNode on Node {
  id
  kind
  name
  unwritten
  containers {
    id
    kind
    name
  }
}`) as unknown as TypedDocumentString<ViewDifferenceQuery, ViewDifferenceQueryVariables>;
export const ChangedRunsDocument = new TypedDocumentString(`
    subscription ChangedRuns {
  runs {
    id
  }
}
    `) as unknown as TypedDocumentString<ChangedRunsSubscription, ChangedRunsSubscriptionVariables>;
export const FailedRunsDocument = new TypedDocumentString(`
    subscription FailedRuns {
  runs(states: ["FAIL", "ABORT"]) {
    id
    containers {
      id
      kind
      name
    }
  }
}
    `) as unknown as TypedDocumentString<FailedRunsSubscription, FailedRunsSubscriptionVariables>;
export const SaveViewDocument = new TypedDocumentString(`
    mutation SaveView($name: String!, $location: String!, $shared: Boolean!, $replace: Boolean!) {
  saveView(name: $name, location: $location, shared: $shared, replace: $replace) {
    id
    name
  }
}
    `) as unknown as TypedDocumentString<SaveViewMutation, SaveViewMutationVariables>;