import type { EdgeKind, LedgerFragment, NodeKind } from '../api/generated/graphql';

/** A container of data or of actors, as the service gives it. */
export interface GraphNode {
  id: string;
  kind: NodeKind;
  name: string;
  /** Absent if only the shape of the lineage is known. */
  properties?: unknown;
  /** What was captured of a run. Other nodes have none. */
  ledger?: LedgerFragment['ledger'];
}

/** A link in the direction in which data flows. */
export interface GraphEdge {
  src: string;
  dst: string;
  kind: EdgeKind;
  properties?: unknown;
}

export interface LineageGraph {
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  /** Number of nodes that a limit of the service kept out. */
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
  /** What made the column that was asked for, operator by operator; of all columns, where none was. */
  expressions?: readonly Step[];
  /** When its program was run again to find this, and wrote the same files. */
  recaptured?: string | null;
}

/** What an operator does: the columns that it makes, and the expressions by which it decides. */
export interface Step {
  operator: string;
  made: readonly { column: string; expression: string }[];
  by: readonly string[];
}

const DATA: ReadonlySet<NodeKind> = new Set<NodeKind>(['PLATFORM', 'DATASET', 'VERSION', 'PARTITION', 'COLUMN']);

export function isData({ kind }: Pick<GraphNode, 'kind'>): boolean {
  return DATA.has(kind);
}
