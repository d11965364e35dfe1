/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** What a job did with a column. */
export type AccessKind =
  | 'CREATE'
  | 'DROP'
  | 'READ'
  | 'WRITE';

/** Keeps what lies on a way between a node of `from` and one of `to`, in either direction. */
export type BetweenInput = {
  from: Array<string>;
  to: Array<string>;
};

/** A kind of change between two runs. */
export type CauseKind =
  | 'ARGUMENTS'
  | 'CODE'
  | 'ENVIRONMENT'
  | 'INPUTS'
  | 'NONDETERMINISM'
  | 'SETTINGS'
  | 'UNRECORDED'
  | 'VERSIONS';

/** What became of a cause. SKIPPED: a limit, the owner's rights or a missed time forbade it; `reason` says which. */
export type CauseOutcome =
  | 'FIRED'
  | 'SKIPPED';

/** SAME: nothing of this kind changed. VERIFIED: a replay with this change alone gives another result. NO_EFFECT: it gives the same result. STATED: no replay can test the change. NOT_CHECKED: no replay ran to its end, or its result says nothing. */
export type CauseVerdict =
  | 'NOT_CHECKED'
  | 'NO_EFFECT'
  | 'SAME'
  | 'STATED'
  | 'VERIFIED';

/** CHANGED: a record of the same key has other values. */
export type Change =
  | 'ADDED'
  | 'CHANGED'
  | 'REMOVED';

/** UNKNOWN: no run stated what the clause is about. */
export type ClauseOutcome =
  | 'BROKEN'
  | 'KEPT'
  | 'UNKNOWN';

/** ALL: a job reads the whole dataset. NEW: a job reads the blocks after its cursor. OLD: the blocks up to it. */
export type ConsumptionMode =
  | 'ALL'
  | 'NEW'
  | 'OLD'
  | 'UNKNOWN';

/** WHY: the records at which a run failed. BLAME: the records that make rows of a dataset wrong. WITNESS: the records that still give a row. COMPARE: what changed between two runs. CLEAN: the records behind the worst rows of a result are left out. */
export type CulpritSearchKind =
  | 'BLAME'
  | 'CLEAN'
  | 'COMPARE'
  | 'WHY'
  | 'WITNESS';

/** What became of a request. */
export type Decision =
  | 'ALLOWED'
  | 'FAILED'
  | 'REFUSED';

/** What people state of a node: several owners, stewards, tags and terms, and one of each other aspect. */
export type DescribedAspect =
  | 'BROADER'
  | 'DESCRIPTION'
  | 'LEGAL_HOLD'
  | 'OWNER'
  | 'RETENTION'
  | 'STEWARD'
  | 'TAG'
  | 'TERM';

/** A statement about a node, or its removal. The removal of a single text needs no value. */
export type DescriptionChange = {
  aspect: DescribedAspect;
  removed?: boolean;
  value?: string;
};

/** ACCEPTED deviations are open again when their time is over. FIXED ones were not found any more. */
export type DeviationState =
  | 'ACCEPTED'
  | 'FIXED'
  | 'OPEN';

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

/** INTERRUPTED: the process that ran it ended, and it may not run again. The last three are final. */
export type ExecutionState =
  | 'COMPLETE'
  | 'FAILED'
  | 'INTERRUPTED'
  | 'RUNNING'
  | 'WAITING';

/** The grain of an entry of an answer. Any grain but RECORD makes the answer inexact. */
export type Grain =
  | 'DATASET'
  | 'PARTITION'
  | 'RECORD'
  | 'VERSION';

/** Whether a named key opens anything. */
export type KeyState =
  | 'EXPIRED'
  | 'REVOKED'
  | 'VALID';

/** The rule that divides a lake into groups: of jobs by PIPELINE (or system), of datasets by all others. A dataset can be in several groups of an owner, tag or term, or in none. */
export type Lens =
  | 'NAMESPACE'
  | 'OWNER'
  | 'PIPELINE'
  | 'TAG'
  | 'TERM';

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

/** What a replay does with records of a file: leaves them out, reads only them, or reads them with new values. */
export type RecordUse =
  | 'EDITED'
  | 'LEFT_OUT'
  | 'READ';

/** How far the commit of one dataset has come. */
export type ReplayCommitState =
  | 'DONE'
  | 'EXPIRED'
  | 'PREPARED'
  | 'UNDONE';

/** A new value of a column, as text that Spark casts; null is NULL. */
export type ReplayEdit = {
  column: string;
  value?: string | null | undefined;
};

/** The kind of a replay: which records and programs go in. */
export type ReplayKind =
  | 'EXCLUSIVE'
  | 'REFRESH'
  | 'SELECTIVE'
  | 'STEP'
  | 'VERIFY'
  | 'WHAT_IF';

/** How far a replay, one of its steps, or a recapture has come. COMPLETE and FAILED are final. */
export type ReplayState =
  | 'COMPLETE'
  | 'FAILED'
  | 'QUEUED'
  | 'RUNNING';

/** A record, by file and 0-based row. */
export type RowRef = {
  file: string;
  row: number;
};

/** The severity of a deviation from a rule. */
export type Severity =
  | 'ERROR'
  | 'INFO'
  | 'WARNING';

/** An answer at a stop. After DROP and EDIT the replay waits for the next answer. */
export type StopAction =
  | 'CONTINUE'
  | 'DROP'
  | 'EDIT'
  | 'STOP';

/** BORNE: the node has the tag. REFUSED: a person removed it there. */
export type TagState =
  | 'BORNE'
  | 'PROPOSED'
  | 'REFUSED';

/** PAUSED by a person; STOPPED because its owner may not do it any more. Only ACTIVE triggers fire. */
export type TriggerState =
  | 'ACTIVE'
  | 'PAUSED'
  | 'STOPPED';

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

export type Way =
  | 'DIRECT'
  | 'INDIRECT'
  | 'MASKED';

/** The part of a channel that a task reads: its current version, the blocks after the cursor, or those before. */
export type WorkflowConsumption =
  | 'ALL'
  | 'NEW'
  | 'OLD';

/** A BASE replaces the content of its channel, a DELTA adds to it. */
export type WorkflowProduction =
  | 'BASE'
  | 'DELTA';

/** COMMITTED: the run counts, and its blocks are being moved to their channels. A FAILED run changed nothing. */
export type WorkflowRunState =
  | 'COMMITTED'
  | 'COMPLETE'
  | 'FAILED'
  | 'RUNNING';

export type SearchQueryVariables = Exact<{
  text: string;
  kinds?: Array<NodeKind> | NodeKind | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type SearchQuery = { search: { cursor: string | null, total: number, nodes: Array<{ id: string, kind: NodeKind, name: string, properties: unknown, containers: Array<{ id: string, kind: NodeKind, name: string }> }> } };

export type StatedFactsQueryVariables = Exact<{
  id: string;
}>;


export type StatedFactsQuery = { node: { id: string, facts: { size: { rows: number | null, bytes: number | null, files: number | null, at: string | null } | null, quality: { passed: number, failed: number } | null, inputs: Array<{ dataset: string, size: { rows: number | null, bytes: number | null, files: number | null, at: string | null } }>, outputs: Array<{ dataset: string, size: { rows: number | null, bytes: number | null, files: number | null, at: string | null } }>, error: { message: string, stackTrace: string | null, cut: boolean } | null, sourcePlace: { url: string | null, stated: string | null, repository: string | null, path: string | null, version: string | null, branch: string | null, tag: string | null } | null, sql: { query: string, dialect: string | null, cut: boolean } | null, source: { code: string, language: string | null, cut: boolean } | null }, descriptions: { owners: Array<string>, stewards: Array<string>, tags: Array<string>, tagValues: Array<string>, terms: Array<string>, description: string | null, statements: Array<{ aspect: string, value: string, by: string | null, at: string | null, produced: boolean, removed: boolean, overruled: boolean }> } } | null };

export type FailureFragment = { error: { message: string, stackTrace: string | null, cut: boolean } | null };

export type CodeFragment = { sourcePlace: { url: string | null, stated: string | null, repository: string | null, path: string | null, version: string | null, branch: string | null, tag: string | null } | null, sql: { query: string, dialect: string | null, cut: boolean } | null, source: { code: string, language: string | null, cut: boolean } | null };

export type ReplayFactsFragment = { id: string, state: ReplayState, kind: ReplayKind, output: string, startedAt: string, startedBy: string | null, endedAt: string | null, shadow: string, error: string | null, records: Array<{ use: RecordUse, file: string, rows: Array<number>, total: number }>, steps: Array<{ job: string, state: ReplayState }> };

export type ShownRecordsFragment = { dataset: string, note: string | null, rows: Array<{ file: string, row: number, values: unknown }> };

export type ReplaysQueryVariables = Exact<{
  first: number;
}>;


export type ReplaysQuery = { replays: Array<{ id: string, state: ReplayState, kind: ReplayKind, output: string, startedAt: string, startedBy: string | null, endedAt: string | null, shadow: string, error: string | null, records: Array<{ use: RecordUse, file: string, rows: Array<number>, total: number }>, steps: Array<{ job: string, state: ReplayState }> }> };

export type ReplayQueryVariables = Exact<{
  id: string;
}>;


export type ReplayQuery = { replay: { notes: Array<string>, differing: number, id: string, state: ReplayState, kind: ReplayKind, output: string, startedAt: string, startedBy: string | null, endedAt: string | null, shadow: string, error: string | null, differences: Array<{ dataset: string, columns: Array<string>, before: unknown, after: unknown }>, stop: { job: string, inputs: Array<{ dataset: string, note: string | null, rows: Array<{ file: string, row: number, values: unknown }> }>, outputs: Array<{ dataset: string, note: string | null, rows: Array<{ file: string, row: number, values: unknown }> }> } | null, commit: { at: string, keptUntil: string, datasets: Array<{ dataset: string, state: ReplayCommitState }> } | null, records: Array<{ use: RecordUse, file: string, rows: Array<number>, total: number }>, steps: Array<{ job: string, state: ReplayState }> } | null };

export type ReplayDryRunQueryVariables = Exact<{
  kind: ReplayKind;
  dataset?: string | null | undefined;
  where?: string | null | undefined;
  rows?: Array<RowRef> | RowRef | null | undefined;
  output?: string | null | undefined;
  edits?: Array<ReplayEdit> | ReplayEdit | null | undefined;
}>;


export type ReplayDryRunQuery = { replayDryRun: { starts: Array<string>, excluded: number, kept: number, edited: number, seconds: number | null, diskBytes: number, diskFree: number, unknownSizes: Array<string>, notes: Array<string>, steps: Array<{ job: string, script: string, writes: Array<string>, seconds: number | null }> } };

export type CancelReplayMutationVariables = Exact<{
  id: string;
}>;


export type CancelReplayMutation = { cancelReplay: { id: string } };

export type AnswerReplayMutationVariables = Exact<{
  id: string;
  action: StopAction;
  file?: string | null | undefined;
  row?: number | null | undefined;
  edits?: Array<ReplayEdit> | ReplayEdit | null | undefined;
}>;


export type AnswerReplayMutation = { answerReplay: { id: string } };

export type ApproveReplayMutationVariables = Exact<{
  id: string;
}>;


export type ApproveReplayMutation = { approveReplay: { id: string } };

export type CommitReplayMutationVariables = Exact<{
  id: string;
}>;


export type CommitReplayMutation = { commitReplay: { id: string } };

export type UndoReplayMutationVariables = Exact<{
  id: string;
}>;


export type UndoReplayMutation = { undoReplay: { id: string } };

export type RemoveReplayMutationVariables = Exact<{
  id: string;
}>;


export type RemoveReplayMutation = { removeReplay: { id: string } | null };

export type ConsumersQueryVariables = Exact<{
  dataset: string;
}>;


export type ConsumersQuery = { consumers: Array<{ mode: ConsumptionMode, cursor: number | null, isInferred: boolean, unreadBlocks: number, unreadRows: number | null, unreadSince: string | null, job: { id: string, name: string } }> };

export type CollectBlocksMutationVariables = Exact<{
  dataset: string;
  keep: number;
  apply: boolean;
}>;


export type CollectBlocksMutation = { collectBlocks: { id: string | null, trash: string | null, verdicts: Array<{ sequence: number, isCollectable: boolean, reasons: Array<string>, files: number, bytes: number }> } };

export type CompactBlocksMutationVariables = Exact<{
  dataset: string;
  apply: boolean;
}>;


export type CompactBlocksMutation = { compactBlocks: { id: string | null, state: string, error: string | null, blocks: Array<number>, files: number, bytes: number, reasons: Array<string>, notes: Array<string> } };

export type RestoreBlocksMutationVariables = Exact<{
  id: string;
}>;


export type RestoreBlocksMutation = { restoreBlocks: string };

export type ViewLinkQueryVariables = Exact<{
  view: ViewInput;
  src: string;
  dst: string;
}>;


export type ViewLinkQuery = { viewLink: { total: number, maskedTotal: number, withheld: number, pairs: Array<{ src: string, dst: string }>, masked: Array<{ id: string, kind: NodeKind, name: string }> } };

export type CulpritSearchesQueryVariables = Exact<{ [key: string]: never; }>;


export type CulpritSearchesQuery = { culpritSearches: Array<{ id: string, kind: CulpritSearchKind, subject: string, state: ReplayState, error: string | null, trials: number, left: number, step: string | null, function: string | null, problem: string | null, isMinimal: boolean, count: number, notes: Array<string>, doing: string | null, records: Array<{ file: string, row: number, values: unknown }>, origins: Array<{ file: string, row: number, values: unknown }>, comparison: { first: string, second: string, together: boolean | null, notes: Array<string>, results: Array<{ dataset: string, rows: number | null, isRebuilt: boolean, reason: string | null, differences: Array<{ dataset: string, before: unknown, after: unknown, columns: Array<string> }> }>, causes: Array<{ kind: CauseKind, verdict: CauseVerdict, changes: Array<string>, rows: number | null, isWhole: boolean, reason: string | null }> } | null, cleaning: { replay: string | null, differing: number | null, steps: Array<{ dataset: string, records: number, shared: number, reason: string | null }>, before: { rows: number, below: number, least: number | null, median: number | null, mean: number | null }, after: { rows: number, below: number, least: number | null, median: number | null, mean: number | null } | null } | null }> };

export type QualitiesFragment = { rows: number, below: number, least: number | null, median: number | null, mean: number | null };

export type RunsOfJobQueryVariables = Exact<{
  job: string;
}>;


export type RunsOfJobQuery = { runs: { nodes: Array<{ id: string, properties: unknown, ledger: { status: string, rows: number | null, bytes: number | null, problems: Array<{ operator: string | null, reason: string }> } | null }> } };

export type ExplainQueryVariables = Exact<{
  dataset: string;
  bad?: string | null | undefined;
  rows?: Array<RowRef> | RowRef | null | undefined;
  without?: Array<string> | string | null | undefined;
}>;


export type ExplainQuery = { explain: { exact: boolean, incomplete: Array<{ what: string, reason: string }>, sources: Array<{ dataset: string, bad: number, good: number, hidden: Array<string>, isComplete: boolean, explanations: Array<{ condition: string, bad: number, good: number, precision: number, recall: number }> }> } };

export type StartBlameMutationVariables = Exact<{
  dataset: string;
  where?: string | null | undefined;
}>;


export type StartBlameMutation = { startBlame: { id: string } };

export type StartWitnessMutationVariables = Exact<{
  dataset: string;
  where: string;
  columns?: Array<string> | string | null | undefined;
}>;


export type StartWitnessMutation = { startWitness: { id: string } };

export type StartCompareMutationVariables = Exact<{
  first: string;
  second: string;
  replays: boolean;
}>;


export type StartCompareMutation = { startCompare: { id: string } };

export type StartCleanMutationVariables = Exact<{
  dataset: string;
  quality: string;
  below?: number | null | undefined;
  dryRun: boolean;
}>;


export type StartCleanMutation = { startClean: { id: string } };

export type StartWhyMutationVariables = Exact<{
  run: string;
}>;


export type StartWhyMutation = { startWhy: { id: string } };

export type CancelCulpritSearchMutationVariables = Exact<{
  id: string;
}>;


export type CancelCulpritSearchMutation = { cancelCulpritSearch: { id: string } };

export type StartReplayMutationVariables = Exact<{
  kind: ReplayKind;
  dataset?: string | null | undefined;
  where?: string | null | undefined;
  rows?: Array<RowRef> | RowRef | null | undefined;
  output?: string | null | undefined;
  edits?: Array<ReplayEdit> | ReplayEdit | null | undefined;
}>;


export type StartReplayMutation = { startReplay: { id: string } };

export type KeysQueryVariables = Exact<{
  all: boolean;
}>;


export type KeysQuery = { admin: { keys: Array<{ id: string, name: string, tenant: string, scopes: Array<string>, state: KeyState, created: string, expires: string | null, used: string | null }> } };

export type RightsQueryVariables = Exact<{ [key: string]: never; }>;


export type RightsQuery = { admin: { roles: Array<{ name: string, scopes: Array<string> }>, tenants: Array<{ name: string, keys: number, grants: number }>, people: { issuer: string | null, fault: string | null, grants: Array<{ claim: Array<string>, value: string, tenant: string, scopes: Array<string> }> } } };

export type CreateKeyMutationVariables = Exact<{
  name: string;
  roles: Array<string> | string;
  tenant?: string | null | undefined;
  days?: number | null | undefined;
}>;


export type CreateKeyMutation = { createKey: { secret: string, key: { name: string } } };

export type RotateKeyMutationVariables = Exact<{
  id: string;
}>;


export type RotateKeyMutation = { rotateKey: { secret: string, key: { name: string } } };

export type RevokeKeyMutationVariables = Exact<{
  id: string;
}>;


export type RevokeKeyMutation = { revokeKey: { id: string } };

export type AuditLogQueryVariables = Exact<{
  by?: string | null | undefined;
  dataset?: string | null | undefined;
  decision?: Decision | null | undefined;
  since?: string | null | undefined;
  until?: string | null | undefined;
}>;


export type AuditLogQuery = { audit: { searchedBackTo: string | null, entries: Array<{ at: string, who: string | null, operation: string, subjects: Array<string>, more: number, records: number | null, decision: string | null, reason: string | null }> } };

export type ColumnAccessQueryVariables = Exact<{
  column: string;
}>;


export type ColumnAccessQuery = { fieldAccess: Array<{ job: string, kind: AccessKind, decidesOnly: boolean, first: string | null, last: string | null, runs: Array<string>, certain: boolean }>, fieldLineage: { tags: Array<{ tag: string, origin: string, distance: number }> } };

export type AuditVerificationQueryVariables = Exact<{ [key: string]: never; }>;


export type AuditVerificationQuery = { auditVerification: { intact: boolean, whole: boolean, since: string | null, lines: number | null, head: string | null, breaks: Array<{ file: string, line: number, reason: string }> } };

export type DiffQueryVariables = Exact<{
  dataset: string;
  before: string;
  after: string;
  key?: Array<string> | string | null | undefined;
  first: number;
  offset: number;
}>;


export type DiffQuery = { diff: { key: Array<string>, total: number, added: number, removed: number, changed: number, exact: boolean, notes: Array<string>, before: { name: string, asOf: string | null }, after: { name: string, asOf: string | null }, columns: Array<{ name: string, type: string }>, entries: Array<{ change: Change, before: { file: string, row: number, line: number | null, values: unknown } | null, after: { file: string, row: number, line: number | null, values: unknown } | null }>, incomplete: Array<{ what: string, reason: string, effect: string }> } };

export type DiffVersionFragment = { name: string, asOf: string | null };

export type DiffRowFragment = { file: string, row: number, line: number | null, values: unknown };

export type TriggerFactsFragment = { name: string, state: TriggerState, reason: string | null, condition: string, action: string, owner: string, createdAt: string, lastFiredAt: string | null };

export type CauseFactsFragment = { id: string, at: string, outcome: CauseOutcome, reason: string | null, facts: unknown, execution: { state: ExecutionState, startedAt: string | null, endedAt: string | null, error: string | null, result: string | null } | null };

export type TriggersQueryVariables = Exact<{ [key: string]: never; }>;


export type TriggersQuery = { triggers: Array<{ name: string, state: TriggerState, reason: string | null, condition: string, action: string, owner: string, createdAt: string, lastFiredAt: string | null }> };

export type TriggerQueryVariables = Exact<{
  name: string;
  first: number;
}>;


export type TriggerQuery = { trigger: { definition: unknown, name: string, state: TriggerState, reason: string | null, condition: string, action: string, owner: string, createdAt: string, lastFiredAt: string | null, history: Array<{ id: string, at: string, outcome: CauseOutcome, reason: string | null, facts: unknown, execution: { state: ExecutionState, startedAt: string | null, endedAt: string | null, error: string | null, result: string | null } | null }> } | null };

export type TestTriggerQueryVariables = Exact<{
  name: string;
  since: string;
  until?: string | null | undefined;
}>;


export type TestTriggerQuery = { testTrigger: { entries: number, notes: Array<string>, causes: Array<{ id: string, at: string, outcome: CauseOutcome, reason: string | null, facts: unknown, execution: { state: ExecutionState, startedAt: string | null, endedAt: string | null, error: string | null, result: string | null } | null }> } };

export type CreateTriggerMutationVariables = Exact<{
  definition: unknown;
}>;


export type CreateTriggerMutation = { createTrigger: { name: string } };

export type PauseTriggerMutationVariables = Exact<{
  name: string;
}>;


export type PauseTriggerMutation = { pauseTrigger: { name: string } };

export type ResumeTriggerMutationVariables = Exact<{
  name: string;
}>;


export type ResumeTriggerMutation = { resumeTrigger: { name: string } };

export type FireTriggerMutationVariables = Exact<{
  name: string;
}>;


export type FireTriggerMutation = { fireTrigger: { id: string } };

export type RemoveTriggerMutationVariables = Exact<{
  name: string;
}>;


export type RemoveTriggerMutation = { removeTrigger: { name: string } };

export type WorkflowsQueryVariables = Exact<{ [key: string]: never; }>;


export type WorkflowsQuery = { workflows: Array<{ name: string, appliedAt: string, isRunning: boolean, problem: string | null, tasks: Array<{ name: string, state: WorkflowRunState | null, inputs: Array<{ unread: number }> }> }> };

export type WorkflowQueryVariables = Exact<{
  name: string;
  first: number;
}>;


export type WorkflowQuery = { workflow: { name: string, appliedAt: string, isRunning: boolean, problem: string | null, channels: Array<{ name: string, dataset: string, path: string, writer: string | null, currentBlocks: number, lastBlock: number | null }>, tasks: Array<{ name: string, program: string, state: WorkflowRunState | null, endedAt: string | null, error: string | null, inputs: Array<{ channel: string, mode: WorkflowConsumption, cursor: number | null, unread: number }>, outputs: Array<{ channel: string, mode: WorkflowProduction, lastBlock: number | null }> }>, runs: Array<{ id: string, task: string, state: WorkflowRunState, startedAt: string, endedAt: string | null, error: string | null }> } | null };

export type RunWorkflowMutationVariables = Exact<{
  name: string;
  task?: string | null | undefined;
}>;


export type RunWorkflowMutation = { runWorkflow: { name: string } };

export type DescribeMutationVariables = Exact<{
  node: string;
  changes: Array<DescriptionChange> | DescriptionChange;
}>;


export type DescribeMutation = { describe: { owners: Array<string> } };

export type GlossaryQueryVariables = Exact<{ [key: string]: never; }>;


export type GlossaryQuery = { glossary: { cut: boolean, terms: Array<{ id: string, name: string, broader: string | null, level: number, description: string | null, owners: Array<string> }> } };

export type DescribedColumnsQueryVariables = Exact<{
  id: string;
}>;


export type DescribedColumnsQuery = { node: { id: string, children: { nodes: Array<{ id: string, name: string, descriptions: { owners: Array<string>, stewards: Array<string>, tags: Array<string>, tagValues: Array<string>, terms: Array<string>, description: string | null, statements: Array<{ aspect: string, value: string, by: string | null, at: string | null, produced: boolean, removed: boolean, overruled: boolean }> } }> } } | null };

export type NotifyRulesQueryVariables = Exact<{ [key: string]: never; }>;


export type NotifyRulesQuery = { triggers: Array<{ id: string, name: string, state: TriggerState, reason: string | null, condition: string, owner: string, definition: unknown }>, notificationTargets: Array<{ name: string, kind: string }> };

export type JobQueryVariables = Exact<{
  id: string;
  first: number;
}>;


export type JobQuery = { node: { id: string, name: string, facts: { sourcePlace: { url: string | null, stated: string | null, repository: string | null, path: string | null, version: string | null, branch: string | null, tag: string | null } | null, sql: { query: string, dialect: string | null, cut: boolean } | null, source: { code: string, language: string | null, cut: boolean } | null }, descriptions: { owners: Array<string>, stewards: Array<string>, tags: Array<string>, tagValues: Array<string>, terms: Array<string>, description: string | null, statements: Array<{ aspect: string, value: string, by: string | null, at: string | null, produced: boolean, removed: boolean, overruled: boolean }> } } | null, runs: { nodes: Array<{ id: string, properties: unknown, ledger: { status: string, rows: number | null, bytes: number | null, problems: Array<{ operator: string | null, reason: string }> } | null }> }, lineage: { edges: Array<{ src: string, dst: string, kind: EdgeKind, former: boolean }> } };

export type WritersQueryVariables = Exact<{
  id: string;
}>;


export type WritersQuery = { lineage: { nodes: Array<{ id: string, name: string }>, edges: Array<{ src: string, former: boolean }> } };

export type RunQueryVariables = Exact<{
  id: string;
}>;


export type RunQuery = { node: { id: string, name: string, properties: unknown, facts: { sql: { query: string, dialect: string | null, cut: boolean } | null, error: { message: string, stackTrace: string | null, cut: boolean } | null }, containers: Array<{ id: string, kind: NodeKind, name: string, facts: { sourcePlace: { url: string | null, stated: string | null, repository: string | null, path: string | null, version: string | null, branch: string | null, tag: string | null } | null, sql: { query: string, dialect: string | null, cut: boolean } | null, source: { code: string, language: string | null, cut: boolean } | null } }>, children: { nodes: Array<{ id: string, name: string, properties: unknown, children: { total: number, nodes: Array<{ id: string, name: string, properties: unknown }> } }> }, ledger: { status: string, rows: number | null, bytes: number | null, problems: Array<{ operator: string | null, reason: string }> } | null } | null, lineage: { edges: Array<{ src: string, dst: string, kind: EdgeKind }> } };

export type ImpactQueryVariables = Exact<{
  focus: Array<string> | string;
  direction: Direction;
  first: number;
  after?: string | null | undefined;
}>;


export type ImpactQuery = { impact: { total: number, beyond: number, reasons: Array<string>, former: number, cursor: string | null, rows: Array<{ distance: number, path: Array<string>, owners: Array<string>, lastRun: string | null, updated: string | null, node: { id: string, kind: NodeKind, name: string } }> } };

export type QualityQueryVariables = Exact<{
  node: string;
}>;


export type QualityQuery = { quality: Array<{ id: string, assertion: string, column: string | null, results: Array<{ run: string, at: string, values: unknown }> }> };

export type LakeMapQueryVariables = Exact<{
  lens: Lens;
  first: number;
  include: Array<string> | string;
}>;


export type LakeMapQuery = { lakeMap: { total: number, members: number, wide: number, groups: Array<{ members: number, toRest: number, fromRest: number, node: { id: string, kind: NodeKind, name: string } }>, flows: Array<{ src: string, dst: string, weight: number }> } };

export type MapMembersQueryVariables = Exact<{
  text: string;
  kinds: Array<NodeKind> | NodeKind;
  namespaces?: Array<string> | string | null | undefined;
  pipelines?: Array<string> | string | null | undefined;
  owners?: Array<string> | string | null | undefined;
  tags?: Array<string> | string | null | undefined;
  terms?: Array<string> | string | null | undefined;
  first: number;
}>;


export type MapMembersQuery = { find: { total: number, counted: boolean, hits: Array<{ node: { id: string, kind: NodeKind, name: string } }> } };

export type MemberFlowsQueryVariables = Exact<{
  lens: Lens;
  members: Array<string> | string;
}>;


export type MemberFlowsQuery = { memberFlows: { complete: boolean, flows: Array<{ src: string, dst: string, weight: number }> } };

export type MapNodesQueryVariables = Exact<{
  ids: Array<string> | string;
}>;


export type MapNodesQuery = { lineage: { nodes: Array<{ id: string, kind: NodeKind, name: string }> } };

export type RankInputsQueryVariables = Exact<{
  dataset: string;
  column: string;
  row: RowRef;
  first: number;
}>;


export type RankInputsQuery = { rankInputs: { run: string, function: string, value: unknown, total: number, exact: boolean, notes: Array<string>, records: Array<{ without: unknown, change: unknown, isRowGone: boolean, record: { dataset: string, datasetName: string, file: string | null, row: number | null, line: number | null, grain: Grain, values: unknown } }>, incomplete: Array<{ what: string, reason: string, effect: string }> } };

export type DeviationFactsFragment = { id: string, policy: string | null, rule: string, severity: Severity, owner: string | null, target: string, message: string, path: Array<string>, since: string | null, certain: boolean, state: DeviationState | null, opened: string | null, reason: string | null, acceptedBy: string | null, acceptedUntil: string | null };

export type PoliciesQueryVariables = Exact<{
  states?: Array<DeviationState> | DeviationState | null | undefined;
  policy?: string | null | undefined;
  first: number;
}>;


export type PoliciesQuery = { policies: Array<{ name: string, version: number, author: string, at: string, text: string }>, deviations: Array<{ id: string, policy: string | null, rule: string, severity: Severity, owner: string | null, target: string, message: string, path: Array<string>, since: string | null, certain: boolean, state: DeviationState | null, opened: string | null, reason: string | null, acceptedBy: string | null, acceptedUntil: string | null }> };

export type CheckPolicyQueryVariables = Exact<{
  text: string;
}>;


export type CheckPolicyQuery = { checkPolicy: { cut: Array<string>, conflicts: Array<string>, deviations: Array<{ id: string, policy: string | null, rule: string, severity: Severity, owner: string | null, target: string, message: string, path: Array<string>, since: string | null, certain: boolean, state: DeviationState | null, opened: string | null, reason: string | null, acceptedBy: string | null, acceptedUntil: string | null }>, idle: Array<{ rule: string }> } };

export type ApplyPolicyMutationVariables = Exact<{
  text: string;
}>;


export type ApplyPolicyMutation = { applyPolicy: { policy: { name: string } } };

export type RemovePolicyMutationVariables = Exact<{
  name: string;
}>;


export type RemovePolicyMutation = { removePolicy: boolean };

export type AcceptDeviationMutationVariables = Exact<{
  id: string;
  reason: string;
  days: number;
}>;


export type AcceptDeviationMutation = { acceptDeviation: { id: string } };

export type CarriedTagsQueryVariables = Exact<{
  tag?: string | null | undefined;
  first: number;
}>;


export type CarriedTagsQuery = { carriedTags: { total: number, silent: Array<string>, tags: Array<{ node: string, tag: string, origin: string, originTag: string, path: Array<string>, way: Way, certain: boolean, state: TagState }> } };

export type CheckContractQueryVariables = Exact<{
  contract: unknown;
}>;


export type CheckContractQuery = { checkContract: { name: string, version: string, status: string, ignored: Array<string>, clauses: Array<{ table: string, column: string | null, demand: string, outcome: ClauseOutcome, detail: string, dataset: string | null }> } };

export type SubjectAccessQueryVariables = Exact<{
  dataset: string;
  where: string;
  limit: number;
}>;


export type SubjectAccessQuery = { subjectAccess: { exact: boolean, complete: boolean, total: number, notes: Array<string>, datasets: Array<{ dataset: string, records: number, former: number, complete: boolean, exact: boolean, coarse: boolean, reasons: Array<string> }>, records: Array<{ dataset: string, datasetName: string, file: string | null, row: number | null, line: number | null, grain: Grain, values: unknown }>, selected: Array<{ file: string | null, row: number | null }>, incomplete: Array<{ what: string, reason: string, effect: string }> } };

export type DatasetReadersQueryVariables = Exact<{
  dataset: string;
  since: string;
}>;


export type DatasetReadersQuery = { datasetReaders: { uncertain: number, damaged: number, searchedBackTo: string | null, readers: Array<{ who: string, operations: Array<string>, answers: number, records: number, first: string, last: string }> } };

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
export const FailureFragmentDoc = new TypedDocumentString(`
    fragment Failure on Facts {
  error {
    message
    stackTrace
    cut
  }
}
    `, {"fragmentName":"Failure"}) as unknown as TypedDocumentString<FailureFragment, unknown>;
export const CodeFragmentDoc = new TypedDocumentString(`
    fragment Code on Facts {
  sourcePlace {
    url
    stated
    repository
    path
    version
    branch
    tag
  }
  sql {
    query
    dialect
    cut
  }
  source {
    code
    language
    cut
  }
}
    `, {"fragmentName":"Code"}) as unknown as TypedDocumentString<CodeFragment, unknown>;
export const ReplayFactsFragmentDoc = new TypedDocumentString(`
    fragment ReplayFacts on Replay {
  id
  state
  kind
  output
  startedAt
  startedBy
  records {
    use
    file
    rows
    total
  }
  endedAt
  shadow
  error
  steps {
    job
    state
  }
}
    `, {"fragmentName":"ReplayFacts"}) as unknown as TypedDocumentString<ReplayFactsFragment, unknown>;
export const ShownRecordsFragmentDoc = new TypedDocumentString(`
    fragment ShownRecords on ShownDataset {
  dataset
  note
  rows {
    file
    row
    values
  }
}
    `, {"fragmentName":"ShownRecords"}) as unknown as TypedDocumentString<ShownRecordsFragment, unknown>;
export const QualitiesFragmentDoc = new TypedDocumentString(`
    fragment Qualities on RowQualities {
  rows
  below
  least
  median
  mean
}
    `, {"fragmentName":"Qualities"}) as unknown as TypedDocumentString<QualitiesFragment, unknown>;
export const DiffVersionFragmentDoc = new TypedDocumentString(`
    fragment DiffVersion on DiffSide {
  name
  asOf
}
    `, {"fragmentName":"DiffVersion"}) as unknown as TypedDocumentString<DiffVersionFragment, unknown>;
export const DiffRowFragmentDoc = new TypedDocumentString(`
    fragment DiffRow on DiffRecord {
  file
  row
  line
  values
}
    `, {"fragmentName":"DiffRow"}) as unknown as TypedDocumentString<DiffRowFragment, unknown>;
export const TriggerFactsFragmentDoc = new TypedDocumentString(`
    fragment TriggerFacts on Trigger {
  name
  state
  reason
  condition
  action
  owner
  createdAt
  lastFiredAt
}
    `, {"fragmentName":"TriggerFacts"}) as unknown as TypedDocumentString<TriggerFactsFragment, unknown>;
export const CauseFactsFragmentDoc = new TypedDocumentString(`
    fragment CauseFacts on TriggerCause {
  id
  at
  outcome
  reason
  facts
  execution {
    state
    startedAt
    endedAt
    error
    result
  }
}
    `, {"fragmentName":"CauseFacts"}) as unknown as TypedDocumentString<CauseFactsFragment, unknown>;
export const DeviationFactsFragmentDoc = new TypedDocumentString(`
    fragment DeviationFacts on PolicyDeviation {
  id
  policy
  rule
  severity
  owner
  target
  message
  path
  since
  certain
  state
  opened
  reason
  acceptedBy
  acceptedUntil
}
    `, {"fragmentName":"DeviationFacts"}) as unknown as TypedDocumentString<DeviationFactsFragment, unknown>;
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
export const SearchDocument = new TypedDocumentString(`
    query Search($text: String!, $kinds: [NodeKind!], $first: Int!, $after: String) {
  search(text: $text, kinds: $kinds, first: $first, after: $after) {
    nodes {
      id
      kind
      name
      properties
      containers {
        id
        kind
        name
      }
    }
    cursor
    total
  }
}
    `) as unknown as TypedDocumentString<SearchQuery, SearchQueryVariables>;
export const StatedFactsDocument = new TypedDocumentString(`
    query StatedFacts($id: ID!) {
  node(id: $id) {
    id
    ...Described
    facts {
      size {
        ...Size
      }
      quality {
        passed
        failed
      }
      inputs {
        dataset
        size {
          ...Size
        }
      }
      outputs {
        dataset
        size {
          ...Size
        }
      }
      ...Failure
      ...Code
    }
  }
}
    fragment Failure on Facts {
  error {
    message
    stackTrace
    cut
  }
}
fragment Code on Facts {
  sourcePlace {
    url
    stated
    repository
    path
    version
    branch
    tag
  }
  sql {
    query
    dialect
    cut
  }
  source {
    code
    language
    cut
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
}`) as unknown as TypedDocumentString<StatedFactsQuery, StatedFactsQueryVariables>;
export const ReplaysDocument = new TypedDocumentString(`
    query Replays($first: Int!) {
  replays(first: $first) {
    ...ReplayFacts
  }
}
    fragment ReplayFacts on Replay {
  id
  state
  kind
  output
  startedAt
  startedBy
  records {
    use
    file
    rows
    total
  }
  endedAt
  shadow
  error
  steps {
    job
    state
  }
}`) as unknown as TypedDocumentString<ReplaysQuery, ReplaysQueryVariables>;
export const ReplayDocument = new TypedDocumentString(`
    query Replay($id: ID!) {
  replay(id: $id) {
    ...ReplayFacts
    notes
    differing
    differences {
      dataset
      columns
      before
      after
    }
    stop {
      job
      inputs {
        ...ShownRecords
      }
      outputs {
        ...ShownRecords
      }
    }
    commit {
      at
      keptUntil
      datasets {
        dataset
        state
      }
    }
  }
}
    fragment ReplayFacts on Replay {
  id
  state
  kind
  output
  startedAt
  startedBy
  records {
    use
    file
    rows
    total
  }
  endedAt
  shadow
  error
  steps {
    job
    state
  }
}
fragment ShownRecords on ShownDataset {
  dataset
  note
  rows {
    file
    row
    values
  }
}`) as unknown as TypedDocumentString<ReplayQuery, ReplayQueryVariables>;
export const ReplayDryRunDocument = new TypedDocumentString(`
    query ReplayDryRun($kind: ReplayKind!, $dataset: String, $where: String, $rows: [RowRef!], $output: String, $edits: [ReplayEdit!]) {
  replayDryRun(
    kind: $kind
    dataset: $dataset
    where: $where
    rows: $rows
    output: $output
    edits: $edits
  ) {
    starts
    steps {
      job
      script
      writes
      seconds
    }
    excluded
    kept
    edited
    seconds
    diskBytes
    diskFree
    unknownSizes
    notes
  }
}
    `) as unknown as TypedDocumentString<ReplayDryRunQuery, ReplayDryRunQueryVariables>;
export const CancelReplayDocument = new TypedDocumentString(`
    mutation CancelReplay($id: ID!) {
  cancelReplay(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<CancelReplayMutation, CancelReplayMutationVariables>;
export const AnswerReplayDocument = new TypedDocumentString(`
    mutation AnswerReplay($id: ID!, $action: StopAction!, $file: String, $row: RowNumber, $edits: [ReplayEdit!]) {
  answerReplay(id: $id, action: $action, file: $file, row: $row, edits: $edits) {
    id
  }
}
    `) as unknown as TypedDocumentString<AnswerReplayMutation, AnswerReplayMutationVariables>;
export const ApproveReplayDocument = new TypedDocumentString(`
    mutation ApproveReplay($id: ID!) {
  approveReplay(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<ApproveReplayMutation, ApproveReplayMutationVariables>;
export const CommitReplayDocument = new TypedDocumentString(`
    mutation CommitReplay($id: ID!) {
  commitReplay(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<CommitReplayMutation, CommitReplayMutationVariables>;
export const UndoReplayDocument = new TypedDocumentString(`
    mutation UndoReplay($id: ID!) {
  undoReplay(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<UndoReplayMutation, UndoReplayMutationVariables>;
export const RemoveReplayDocument = new TypedDocumentString(`
    mutation RemoveReplay($id: ID!) {
  removeReplay(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<RemoveReplayMutation, RemoveReplayMutationVariables>;
export const ConsumersDocument = new TypedDocumentString(`
    query Consumers($dataset: ID!) {
  consumers(dataset: $dataset) {
    job {
      id
      name
    }
    mode
    cursor
    isInferred
    unreadBlocks
    unreadRows
    unreadSince
  }
}
    `) as unknown as TypedDocumentString<ConsumersQuery, ConsumersQueryVariables>;
export const CollectBlocksDocument = new TypedDocumentString(`
    mutation CollectBlocks($dataset: ID!, $keep: Int!, $apply: Boolean!) {
  collectBlocks(dataset: $dataset, keep: $keep, apply: $apply) {
    id
    trash
    verdicts {
      sequence
      isCollectable
      reasons
      files
      bytes
    }
  }
}
    `) as unknown as TypedDocumentString<CollectBlocksMutation, CollectBlocksMutationVariables>;
export const CompactBlocksDocument = new TypedDocumentString(`
    mutation CompactBlocks($dataset: ID!, $apply: Boolean!) {
  compactBlocks(dataset: $dataset, apply: $apply) {
    id
    state
    error
    blocks
    files
    bytes
    reasons
    notes
  }
}
    `) as unknown as TypedDocumentString<CompactBlocksMutation, CompactBlocksMutationVariables>;
export const RestoreBlocksDocument = new TypedDocumentString(`
    mutation RestoreBlocks($id: ID!) {
  restoreBlocks(id: $id)
}
    `) as unknown as TypedDocumentString<RestoreBlocksMutation, RestoreBlocksMutationVariables>;
export const ViewLinkDocument = new TypedDocumentString(`
    query ViewLink($view: ViewInput!, $src: ID!, $dst: ID!) {
  viewLink(view: $view, src: $src, dst: $dst, first: 20) {
    pairs {
      src
      dst
    }
    total
    masked {
      id
      kind
      name
    }
    maskedTotal
    withheld
  }
}
    `) as unknown as TypedDocumentString<ViewLinkQuery, ViewLinkQueryVariables>;
export const CulpritSearchesDocument = new TypedDocumentString(`
    query CulpritSearches {
  culpritSearches(first: 20) {
    id
    kind
    subject
    state
    error
    trials
    left
    step
    function
    problem
    isMinimal
    count
    records {
      file
      row
      values
    }
    origins {
      file
      row
      values
    }
    notes
    doing
    comparison {
      first
      second
      results {
        dataset
        rows
        isRebuilt
        reason
        differences {
          dataset
          before
          after
          columns
        }
      }
      causes {
        kind
        verdict
        changes
        rows
        isWhole
        reason
      }
      together
      notes
    }
    cleaning {
      steps {
        dataset
        records
        shared
        reason
      }
      before {
        ...Qualities
      }
      after {
        ...Qualities
      }
      replay
      differing
    }
  }
}
    fragment Qualities on RowQualities {
  rows
  below
  least
  median
  mean
}`) as unknown as TypedDocumentString<CulpritSearchesQuery, CulpritSearchesQueryVariables>;
export const RunsOfJobDocument = new TypedDocumentString(`
    query RunsOfJob($job: ID!) {
  runs(job: $job, first: 50) {
    nodes {
      id
      properties
      ...Ledger
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
}`) as unknown as TypedDocumentString<RunsOfJobQuery, RunsOfJobQueryVariables>;
export const ExplainDocument = new TypedDocumentString(`
    query Explain($dataset: String!, $bad: String, $rows: [RowRef!], $without: [String!]) {
  explain(dataset: $dataset, bad: $bad, rows: $rows, without: $without) {
    exact
    incomplete {
      what
      reason
    }
    sources {
      dataset
      bad
      good
      hidden
      isComplete
      explanations {
        condition
        bad
        good
        precision
        recall
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ExplainQuery, ExplainQueryVariables>;
export const StartBlameDocument = new TypedDocumentString(`
    mutation StartBlame($dataset: String!, $where: String) {
  startBlame(dataset: $dataset, where: $where) {
    id
  }
}
    `) as unknown as TypedDocumentString<StartBlameMutation, StartBlameMutationVariables>;
export const StartWitnessDocument = new TypedDocumentString(`
    mutation StartWitness($dataset: String!, $where: String!, $columns: [String!]) {
  startWitness(dataset: $dataset, where: $where, columns: $columns) {
    id
  }
}
    `) as unknown as TypedDocumentString<StartWitnessMutation, StartWitnessMutationVariables>;
export const StartCompareDocument = new TypedDocumentString(`
    mutation StartCompare($first: String!, $second: String!, $replays: Boolean!) {
  startCompare(first: $first, second: $second, replays: $replays) {
    id
  }
}
    `) as unknown as TypedDocumentString<StartCompareMutation, StartCompareMutationVariables>;
export const StartCleanDocument = new TypedDocumentString(`
    mutation StartClean($dataset: String!, $quality: String!, $below: Float, $dryRun: Boolean!) {
  startClean(dataset: $dataset, quality: $quality, below: $below, dryRun: $dryRun) {
    id
  }
}
    `) as unknown as TypedDocumentString<StartCleanMutation, StartCleanMutationVariables>;
export const StartWhyDocument = new TypedDocumentString(`
    mutation StartWhy($run: String!) {
  startWhy(run: $run) {
    id
  }
}
    `) as unknown as TypedDocumentString<StartWhyMutation, StartWhyMutationVariables>;
export const CancelCulpritSearchDocument = new TypedDocumentString(`
    mutation CancelCulpritSearch($id: ID!) {
  cancelCulpritSearch(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<CancelCulpritSearchMutation, CancelCulpritSearchMutationVariables>;
export const StartReplayDocument = new TypedDocumentString(`
    mutation StartReplay($kind: ReplayKind!, $dataset: String, $where: String, $rows: [RowRef!], $output: String, $edits: [ReplayEdit!]) {
  startReplay(
    kind: $kind
    dataset: $dataset
    where: $where
    rows: $rows
    output: $output
    edits: $edits
  ) {
    id
  }
}
    `) as unknown as TypedDocumentString<StartReplayMutation, StartReplayMutationVariables>;
export const KeysDocument = new TypedDocumentString(`
    query Keys($all: Boolean!) {
  admin {
    keys(first: 500, all: $all) {
      id
      name
      tenant
      scopes
      state
      created
      expires
      used
    }
  }
}
    `) as unknown as TypedDocumentString<KeysQuery, KeysQueryVariables>;
export const RightsDocument = new TypedDocumentString(`
    query Rights {
  admin {
    roles {
      name
      scopes
    }
    tenants {
      name
      keys
      grants
    }
    people {
      issuer
      fault
      grants {
        claim
        value
        tenant
        scopes
      }
    }
  }
}
    `) as unknown as TypedDocumentString<RightsQuery, RightsQueryVariables>;
export const CreateKeyDocument = new TypedDocumentString(`
    mutation CreateKey($name: String!, $roles: [String!]!, $tenant: String, $days: Float) {
  createKey(name: $name, roles: $roles, tenant: $tenant, days: $days) {
    secret
    key {
      name
    }
  }
}
    `) as unknown as TypedDocumentString<CreateKeyMutation, CreateKeyMutationVariables>;
export const RotateKeyDocument = new TypedDocumentString(`
    mutation RotateKey($id: ID!) {
  rotateKey(id: $id) {
    secret
    key {
      name
    }
  }
}
    `) as unknown as TypedDocumentString<RotateKeyMutation, RotateKeyMutationVariables>;
export const RevokeKeyDocument = new TypedDocumentString(`
    mutation RevokeKey($id: ID!) {
  revokeKey(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<RevokeKeyMutation, RevokeKeyMutationVariables>;
export const AuditLogDocument = new TypedDocumentString(`
    query AuditLog($by: String, $dataset: String, $decision: Decision, $since: String, $until: String) {
  audit(
    by: $by
    dataset: $dataset
    decision: $decision
    since: $since
    until: $until
    last: 100
  ) {
    entries {
      at
      who
      operation
      subjects
      more
      records
      decision
      reason
    }
    searchedBackTo
  }
}
    `) as unknown as TypedDocumentString<AuditLogQuery, AuditLogQueryVariables>;
export const ColumnAccessDocument = new TypedDocumentString(`
    query ColumnAccess($column: ID!) {
  fieldAccess(column: $column) {
    job
    kind
    decidesOnly
    first
    last
    runs
    certain
  }
  fieldLineage(column: $column) {
    tags {
      tag
      origin
      distance
    }
  }
}
    `) as unknown as TypedDocumentString<ColumnAccessQuery, ColumnAccessQueryVariables>;
export const AuditVerificationDocument = new TypedDocumentString(`
    query AuditVerification {
  auditVerification {
    intact
    whole
    since
    lines
    head
    breaks {
      file
      line
      reason
    }
  }
}
    `) as unknown as TypedDocumentString<AuditVerificationQuery, AuditVerificationQueryVariables>;
export const DiffDocument = new TypedDocumentString(`
    query Diff($dataset: ID!, $before: String!, $after: String!, $key: [String!], $first: Int!, $offset: Int!) {
  diff(
    dataset: $dataset
    before: $before
    after: $after
    key: $key
    first: $first
    offset: $offset
  ) {
    before {
      ...DiffVersion
    }
    after {
      ...DiffVersion
    }
    columns {
      name
      type
    }
    key
    entries {
      change
      before {
        ...DiffRow
      }
      after {
        ...DiffRow
      }
    }
    total
    added
    removed
    changed
    exact
    incomplete {
      what
      reason
      effect
    }
    notes
  }
}
    fragment DiffVersion on DiffSide {
  name
  asOf
}
fragment DiffRow on DiffRecord {
  file
  row
  line
  values
}`) as unknown as TypedDocumentString<DiffQuery, DiffQueryVariables>;
export const TriggersDocument = new TypedDocumentString(`
    query Triggers {
  triggers {
    ...TriggerFacts
  }
}
    fragment TriggerFacts on Trigger {
  name
  state
  reason
  condition
  action
  owner
  createdAt
  lastFiredAt
}`) as unknown as TypedDocumentString<TriggersQuery, TriggersQueryVariables>;
export const TriggerDocument = new TypedDocumentString(`
    query Trigger($name: String!, $first: Int!) {
  trigger(name: $name) {
    ...TriggerFacts
    definition
    history(first: $first) {
      ...CauseFacts
    }
  }
}
    fragment TriggerFacts on Trigger {
  name
  state
  reason
  condition
  action
  owner
  createdAt
  lastFiredAt
}
fragment CauseFacts on TriggerCause {
  id
  at
  outcome
  reason
  facts
  execution {
    state
    startedAt
    endedAt
    error
    result
  }
}`) as unknown as TypedDocumentString<TriggerQuery, TriggerQueryVariables>;
export const TestTriggerDocument = new TypedDocumentString(`
    query TestTrigger($name: String!, $since: String!, $until: String) {
  testTrigger(name: $name, since: $since, until: $until) {
    causes {
      ...CauseFacts
    }
    entries
    notes
  }
}
    fragment CauseFacts on TriggerCause {
  id
  at
  outcome
  reason
  facts
  execution {
    state
    startedAt
    endedAt
    error
    result
  }
}`) as unknown as TypedDocumentString<TestTriggerQuery, TestTriggerQueryVariables>;
export const CreateTriggerDocument = new TypedDocumentString(`
    mutation CreateTrigger($definition: JSON!) {
  createTrigger(definition: $definition) {
    name
  }
}
    `) as unknown as TypedDocumentString<CreateTriggerMutation, CreateTriggerMutationVariables>;
export const PauseTriggerDocument = new TypedDocumentString(`
    mutation PauseTrigger($name: String!) {
  pauseTrigger(name: $name) {
    name
  }
}
    `) as unknown as TypedDocumentString<PauseTriggerMutation, PauseTriggerMutationVariables>;
export const ResumeTriggerDocument = new TypedDocumentString(`
    mutation ResumeTrigger($name: String!) {
  resumeTrigger(name: $name) {
    name
  }
}
    `) as unknown as TypedDocumentString<ResumeTriggerMutation, ResumeTriggerMutationVariables>;
export const FireTriggerDocument = new TypedDocumentString(`
    mutation FireTrigger($name: String!) {
  fireTrigger(name: $name) {
    id
  }
}
    `) as unknown as TypedDocumentString<FireTriggerMutation, FireTriggerMutationVariables>;
export const RemoveTriggerDocument = new TypedDocumentString(`
    mutation RemoveTrigger($name: String!) {
  removeTrigger(name: $name) {
    name
  }
}
    `) as unknown as TypedDocumentString<RemoveTriggerMutation, RemoveTriggerMutationVariables>;
export const WorkflowsDocument = new TypedDocumentString(`
    query Workflows {
  workflows {
    name
    appliedAt
    isRunning
    problem
    tasks {
      name
      state
      inputs {
        unread
      }
    }
  }
}
    `) as unknown as TypedDocumentString<WorkflowsQuery, WorkflowsQueryVariables>;
export const WorkflowDocument = new TypedDocumentString(`
    query Workflow($name: String!, $first: Int!) {
  workflow(name: $name) {
    name
    appliedAt
    isRunning
    problem
    channels {
      name
      dataset
      path
      writer
      currentBlocks
      lastBlock
    }
    tasks {
      name
      program
      state
      endedAt
      error
      inputs {
        channel
        mode
        cursor
        unread
      }
      outputs {
        channel
        mode
        lastBlock
      }
    }
    runs(first: $first) {
      id
      task
      state
      startedAt
      endedAt
      error
    }
  }
}
    `) as unknown as TypedDocumentString<WorkflowQuery, WorkflowQueryVariables>;
export const RunWorkflowDocument = new TypedDocumentString(`
    mutation RunWorkflow($name: String!, $task: String) {
  runWorkflow(name: $name, task: $task) {
    name
  }
}
    `) as unknown as TypedDocumentString<RunWorkflowMutation, RunWorkflowMutationVariables>;
export const DescribeDocument = new TypedDocumentString(`
    mutation Describe($node: ID!, $changes: [DescriptionChange!]!) {
  describe(node: $node, changes: $changes) {
    owners
  }
}
    `) as unknown as TypedDocumentString<DescribeMutation, DescribeMutationVariables>;
export const GlossaryDocument = new TypedDocumentString(`
    query Glossary {
  glossary {
    terms {
      id
      name
      broader
      level
      description
      owners
    }
    cut
  }
}
    `) as unknown as TypedDocumentString<GlossaryQuery, GlossaryQueryVariables>;
export const DescribedColumnsDocument = new TypedDocumentString(`
    query DescribedColumns($id: ID!) {
  node(id: $id) {
    id
    children(kinds: [COLUMN], first: 500) {
      nodes {
        id
        name
        ...Described
      }
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
}`) as unknown as TypedDocumentString<DescribedColumnsQuery, DescribedColumnsQueryVariables>;
export const NotifyRulesDocument = new TypedDocumentString(`
    query NotifyRules {
  triggers {
    id
    name
    state
    reason
    condition
    owner
    definition
  }
  notificationTargets {
    name
    kind
  }
}
    `) as unknown as TypedDocumentString<NotifyRulesQuery, NotifyRulesQueryVariables>;
export const JobDocument = new TypedDocumentString(`
    query Job($id: ID!, $first: Int!) {
  node(id: $id) {
    id
    name
    ...Described
    facts {
      ...Code
    }
  }
  runs(job: $id, first: $first) {
    nodes {
      id
      properties
      ...Ledger
    }
  }
  lineage(focus: [$id], direction: BOTH, depth: 1, kinds: [READS, WRITES]) {
    edges {
      src
      dst
      kind
      former
    }
  }
}
    fragment Code on Facts {
  sourcePlace {
    url
    stated
    repository
    path
    version
    branch
    tag
  }
  sql {
    query
    dialect
    cut
  }
  source {
    code
    language
    cut
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
}`) as unknown as TypedDocumentString<JobQuery, JobQueryVariables>;
export const WritersDocument = new TypedDocumentString(`
    query Writers($id: ID!) {
  lineage(focus: [$id], direction: UPSTREAM, depth: 1, kinds: [WRITES]) {
    nodes {
      id
      name
    }
    edges {
      src
      former
    }
  }
}
    `) as unknown as TypedDocumentString<WritersQuery, WritersQueryVariables>;
export const RunDocument = new TypedDocumentString(`
    query Run($id: ID!) {
  node(id: $id) {
    id
    name
    properties
    ...Ledger
    facts {
      ...Failure
      sql {
        query
        dialect
        cut
      }
    }
    containers {
      id
      kind
      name
      facts {
        ...Code
      }
    }
    children(kinds: [STAGE], first: 50) {
      nodes {
        id
        name
        properties
        children(kinds: [TASK], first: 100) {
          nodes {
            id
            name
            properties
          }
          total
        }
      }
    }
  }
  lineage(focus: [$id], direction: BOTH, depth: 1, kinds: [READS, WRITES]) {
    edges {
      src
      dst
      kind
    }
  }
}
    fragment Failure on Facts {
  error {
    message
    stackTrace
    cut
  }
}
fragment Code on Facts {
  sourcePlace {
    url
    stated
    repository
    path
    version
    branch
    tag
  }
  sql {
    query
    dialect
    cut
  }
  source {
    code
    language
    cut
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
}`) as unknown as TypedDocumentString<RunQuery, RunQueryVariables>;
export const ImpactDocument = new TypedDocumentString(`
    query Impact($focus: [ID!]!, $direction: Direction!, $first: Int!, $after: String) {
  impact(focus: $focus, direction: $direction, first: $first, after: $after) {
    rows {
      node {
        id
        kind
        name
      }
      distance
      path
      owners
      lastRun
      updated
    }
    total
    beyond
    reasons
    former
    cursor
  }
}
    `) as unknown as TypedDocumentString<ImpactQuery, ImpactQueryVariables>;
export const QualityDocument = new TypedDocumentString(`
    query Quality($node: ID!) {
  quality(node: $node) {
    id
    assertion
    column
    results {
      run
      at
      values
    }
  }
}
    `) as unknown as TypedDocumentString<QualityQuery, QualityQueryVariables>;
export const LakeMapDocument = new TypedDocumentString(`
    query LakeMap($lens: Lens!, $first: Int!, $include: [ID!]!) {
  lakeMap(lens: $lens, first: $first, include: $include) {
    groups {
      node {
        id
        kind
        name
      }
      members
      toRest
      fromRest
    }
    flows {
      src
      dst
      weight
    }
    total
    members
    wide
  }
}
    `) as unknown as TypedDocumentString<LakeMapQuery, LakeMapQueryVariables>;
export const MapMembersDocument = new TypedDocumentString(`
    query MapMembers($text: String!, $kinds: [NodeKind!]!, $namespaces: [String!], $pipelines: [String!], $owners: [String!], $tags: [String!], $terms: [String!], $first: Int!) {
  find(
    text: $text
    kinds: $kinds
    namespaces: $namespaces
    pipelines: $pipelines
    owners: $owners
    tags: $tags
    terms: $terms
    order: WEIGHT
    first: $first
  ) {
    hits {
      node {
        id
        kind
        name
      }
    }
    total
    counted
  }
}
    `) as unknown as TypedDocumentString<MapMembersQuery, MapMembersQueryVariables>;
export const MemberFlowsDocument = new TypedDocumentString(`
    query MemberFlows($lens: Lens!, $members: [ID!]!) {
  memberFlows(lens: $lens, members: $members) {
    flows {
      src
      dst
      weight
    }
    complete
  }
}
    `) as unknown as TypedDocumentString<MemberFlowsQuery, MemberFlowsQueryVariables>;
export const MapNodesDocument = new TypedDocumentString(`
    query MapNodes($ids: [ID!]!) {
  lineage(focus: $ids, direction: UPSTREAM, depth: 0) {
    nodes {
      id
      kind
      name
    }
  }
}
    `) as unknown as TypedDocumentString<MapNodesQuery, MapNodesQueryVariables>;
export const RankInputsDocument = new TypedDocumentString(`
    query RankInputs($dataset: String!, $column: String!, $row: RowRef!, $first: Int!) {
  rankInputs(dataset: $dataset, column: $column, row: $row, first: $first) {
    run
    function
    value
    records {
      record {
        dataset
        datasetName
        file
        row
        line
        grain
        values
      }
      without
      change
      isRowGone
    }
    total
    exact
    incomplete {
      what
      reason
      effect
    }
    notes
  }
}
    `) as unknown as TypedDocumentString<RankInputsQuery, RankInputsQueryVariables>;
export const PoliciesDocument = new TypedDocumentString(`
    query Policies($states: [DeviationState!], $policy: String, $first: Int!) {
  policies {
    name
    version
    author
    at
    text
  }
  deviations(policy: $policy, states: $states, first: $first) {
    ...DeviationFacts
  }
}
    fragment DeviationFacts on PolicyDeviation {
  id
  policy
  rule
  severity
  owner
  target
  message
  path
  since
  certain
  state
  opened
  reason
  acceptedBy
  acceptedUntil
}`) as unknown as TypedDocumentString<PoliciesQuery, PoliciesQueryVariables>;
export const CheckPolicyDocument = new TypedDocumentString(`
    query CheckPolicy($text: String!) {
  checkPolicy(text: $text) {
    deviations {
      ...DeviationFacts
    }
    idle {
      rule
    }
    cut
    conflicts
  }
}
    fragment DeviationFacts on PolicyDeviation {
  id
  policy
  rule
  severity
  owner
  target
  message
  path
  since
  certain
  state
  opened
  reason
  acceptedBy
  acceptedUntil
}`) as unknown as TypedDocumentString<CheckPolicyQuery, CheckPolicyQueryVariables>;
export const ApplyPolicyDocument = new TypedDocumentString(`
    mutation ApplyPolicy($text: String!) {
  applyPolicy(text: $text) {
    policy {
      name
    }
  }
}
    `) as unknown as TypedDocumentString<ApplyPolicyMutation, ApplyPolicyMutationVariables>;
export const RemovePolicyDocument = new TypedDocumentString(`
    mutation RemovePolicy($name: String!) {
  removePolicy(name: $name)
}
    `) as unknown as TypedDocumentString<RemovePolicyMutation, RemovePolicyMutationVariables>;
export const AcceptDeviationDocument = new TypedDocumentString(`
    mutation AcceptDeviation($id: ID!, $reason: String!, $days: Float!) {
  acceptDeviation(id: $id, reason: $reason, days: $days) {
    id
  }
}
    `) as unknown as TypedDocumentString<AcceptDeviationMutation, AcceptDeviationMutationVariables>;
export const CarriedTagsDocument = new TypedDocumentString(`
    query CarriedTags($tag: String, $first: Int!) {
  carriedTags(tag: $tag, states: [PROPOSED, BORNE, REFUSED], first: $first) {
    tags {
      node
      tag
      origin
      originTag
      path
      way
      certain
      state
    }
    total
    silent
  }
}
    `) as unknown as TypedDocumentString<CarriedTagsQuery, CarriedTagsQueryVariables>;
export const CheckContractDocument = new TypedDocumentString(`
    query CheckContract($contract: JSON!) {
  checkContract(contract: $contract) {
    name
    version
    status
    clauses {
      table
      column
      demand
      outcome
      detail
      dataset
    }
    ignored
  }
}
    `) as unknown as TypedDocumentString<CheckContractQuery, CheckContractQueryVariables>;
export const SubjectAccessDocument = new TypedDocumentString(`
    query SubjectAccess($dataset: String!, $where: String!, $limit: Int!) {
  subjectAccess(dataset: $dataset, where: $where, limit: $limit) {
    exact
    complete
    datasets {
      dataset
      records
      former
      complete
      exact
      coarse
      reasons
    }
    records {
      dataset
      datasetName
      file
      row
      line
      grain
      values
    }
    total
    selected {
      file
      row
    }
    incomplete {
      what
      reason
      effect
    }
    notes
  }
}
    `) as unknown as TypedDocumentString<SubjectAccessQuery, SubjectAccessQueryVariables>;
export const DatasetReadersDocument = new TypedDocumentString(`
    query DatasetReaders($dataset: ID!, $since: String!) {
  datasetReaders(dataset: $dataset, since: $since) {
    readers {
      who
      operations
      answers
      records
      first
      last
    }
    uncertain
    damaged
    searchedBackTo
  }
}
    `) as unknown as TypedDocumentString<DatasetReadersQuery, DatasetReadersQueryVariables>;