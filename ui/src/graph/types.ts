import type { EdgeKind, LedgerFragment, NodeKind } from '../api/generated/graphql';

/** A container of data or of actors. */
export interface GraphNode {
  id: string;
  kind: NodeKind;
  name: string;
  /** Absent if only the shape of the lineage is known. */
  properties?: unknown;
  /** The captured lineage of a run. Other nodes have none. */
  ledger?: LedgerFragment['ledger'];
}

/** A link in the direction in which data flows. */
export interface GraphEdge {
  src: string;
  dst: string;
  kind: EdgeKind;
  properties?: unknown;
  /** Whether a later run of its job stated flows on the same side without this one. */
  former?: boolean;
}

export interface LineageGraph {
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  /** Number of nodes above the limit of the service. */
  truncated: number;
}

/** One run on the path of a trace. */
export interface PathHop {
  job: string;
  run: string;
  output: string;
  inputs: readonly string[];
  /** Outermost first, as in the plan. */
  operations: readonly string[];
  records: number;
  grain: 'RECORD' | 'PARTITION' | 'VERSION' | 'DATASET';
  /** The expressions that computed the traced column, or all columns. */
  expressions?: readonly Step[];
  /** The time of the recapture that found this. */
  recaptured?: string | null;
}

/** An operator: its computed columns, and the expressions that decide about rows. */
export interface Step {
  operator: string;
  made: readonly { column: string; expression: string }[];
  by: readonly string[];
}

const DATA: ReadonlySet<NodeKind> = new Set<NodeKind>([
  'PLATFORM',
  'DATASET',
  'VERSION',
  'PARTITION',
  'COLUMN',
  'OWNER',
  'TAG',
  'TERM',
]);

export function isData({ kind }: Pick<GraphNode, 'kind'>): boolean {
  return DATA.has(kind);
}
