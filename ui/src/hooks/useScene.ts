import { useMemo } from 'react';
import { properties, text } from '../facts/read';
import { schemaOf } from '../facts/schema';
import { keyColumns } from '../graph/columns';
import { type Flow, type FlowNode, mergeGraphs } from '../graph/flow';
import { columnId } from '../graph/ids';
import type { Highlight } from '../graph/path';
import { keysFirst, type Line, type Scene, sceneOf } from '../graph/scene';
import type { GraphNode, LineageGraph, PathHop } from '../graph/types';
import { operationWords } from '../trace/operation';
import { useColumnEdges } from './useColumnEdges';
import { useFacts } from './useLineage';
import { useOperations } from './useOperations';

export interface SceneState {
  /** What is drawn. */
  flow: Flow;
  /** Where links between columns are found. */
  graph: LineageGraph;
  /** What the trace went through. */
  highlight: Highlight | undefined;
  hops: readonly PathHop[];
  /** Ids of the columns that the trace goes through. */
  tracedColumns: ReadonlySet<string>;
  /** Ids of the opened nodes. */
  open: ReadonlySet<string>;
}

/** Loads what the opened nodes show, and arranges everything; arranged again only when something in it changed. */
export function useScene({ flow, graph, highlight, hops, tracedColumns, open }: SceneState): Scene {
  const opened = flow.nodes.filter((node) => open.has(node.id));
  const facts = useFacts(opened.map((node) => node.id));
  const columns = opened.flatMap((node) => columnsOf(facts.get(node.id)));
  const columnEdges = useColumnEdges(columns).data;
  const operations = useOperations(opened.flatMap((node) => lastRunWithoutHop(node, facts, hops)));

  return useMemo(() => {
    const withColumns = columnEdges ? mergeGraphs(graph, columnEdges) : graph;
    const keys = open.size > 0 ? keyColumns(withColumns.edges) : new Set<string>();
    const linesOf = (node: FlowNode): Line[] | undefined => {
      const known = facts.get(node.id);
      if (!known) return undefined;
      return node.kind === 'DATASET'
        ? columnLines(known, tracedColumns, keys)
        : operationLines(known, hops, operations);
    };
    return sceneOf({ flow, graph: withColumns, open, linesOf, highlight, tracedColumns });
  }, [flow, graph, columnEdges, facts, open, hops, operations, highlight, tracedColumns]);
}

function columnsOf(node: GraphNode | undefined): string[] {
  if (node?.kind !== 'DATASET') return [];
  return schemaOf(node.properties).map((column) => columnId(node.id, column.name));
}

function columnLines(node: GraphNode, traced: ReadonlySet<string>, keys: ReadonlySet<string>): Line[] {
  const lines = schemaOf(node.properties).map(({ name, type }) => {
    const id = columnId(node.id, name);
    return { key: name, text: name, note: type, traced: traced.has(id), isKey: keys.has(id) };
  });
  return keysFirst(lines);
}

/** In the order in which data passes them: scans first. */
function operationLines(node: GraphNode, hops: readonly PathHop[], operations: ReadonlyMap<string, string[]>): Line[] {
  const known = hops.find((hop) => hop.job === node.id)?.operations ?? operations.get(lastRunOf(node) ?? '') ?? [];
  return [...known].reverse().map((operation, index) => ({ key: `${index}`, text: wordsOf(operation), traced: false }));
}

function wordsOf(operation: string): string {
  const { verb, detail } = operationWords(operation);
  return `${verb} ${detail}`.trim();
}

function lastRunWithoutHop(node: FlowNode, facts: ReadonlyMap<string, GraphNode>, hops: readonly PathHop[]): string[] {
  if (node.kind !== 'JOB' || hops.some((hop) => hop.job === node.id)) return [];
  const run = lastRunOf(facts.get(node.id));
  return run ? [run] : [];
}

function lastRunOf(node: GraphNode | undefined): string | undefined {
  return text(properties(node?.properties).lastRun);
}
