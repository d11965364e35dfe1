import { useMemo } from 'react';
import { properties, text } from '../facts/read';
import { schemaOf } from '../facts/schema';
import { type FlowNode, flowOf, mergeGraphs, restrictFlow } from '../graph/flow';
import { columnId } from '../graph/ids';
import type { Highlight } from '../graph/path';
import { type Line, type Scene, sceneOf } from '../graph/scene';
import type { LineageGraph, PathHop } from '../graph/types';
import { operationWords } from '../trace/operation';
import { useColumnEdges } from './useColumnEdges';
import { useOperations } from './useOperations';

export interface SceneState {
  graph: LineageGraph;
  /** What the trace went through. */
  highlight: Highlight | undefined;
  /** Whether the rest is left out. */
  pathOnly: boolean;
  hops: readonly PathHop[];
  /** Ids of the columns that the trace goes through. */
  tracedColumns: ReadonlySet<string>;
  /** Ids of the opened nodes. */
  open: ReadonlySet<string>;
}

/** Loads what the opened nodes show, and arranges everything; arranged again only when something in it changed. */
export function useScene({ graph, highlight, pathOnly, hops, tracedColumns, open }: SceneState): Scene {
  const flow = useMemo(() => {
    const whole = flowOf(graph);
    return pathOnly && highlight ? restrictFlow(whole, highlight.nodes) : whole;
  }, [graph, highlight, pathOnly]);
  const opened = flow.nodes.filter((node) => open.has(node.id));
  const columns = opened.flatMap((node) => schemaOf(node.properties).map((column) => columnId(node.id, column.name)));
  const columnEdges = useColumnEdges(opened.filter((node) => node.kind === 'DATASET').length > 1 ? columns : []).data;
  const operations = useOperations(opened.flatMap((node) => lastRunWithoutHop(node, hops)));

  return useMemo(() => {
    const linesOf = (node: FlowNode) =>
      node.kind === 'DATASET' ? columnLines(node, tracedColumns) : operationLines(node, hops, operations);
    const withColumns = columnEdges ? mergeGraphs(graph, columnEdges) : graph;
    return sceneOf({ flow, graph: withColumns, open, linesOf, highlight, tracedColumns });
  }, [flow, graph, columnEdges, open, hops, operations, highlight, tracedColumns]);
}

function columnLines(node: FlowNode, tracedColumns: ReadonlySet<string>): Line[] {
  return schemaOf(node.properties).map(({ name, type }) => ({
    key: name,
    text: name,
    note: type,
    traced: tracedColumns.has(columnId(node.id, name)),
  }));
}

/** In the order in which data passes them: scans first. */
function operationLines(node: FlowNode, hops: readonly PathHop[], operations: ReadonlyMap<string, string[]>): Line[] {
  const known = hops.find((hop) => hop.job === node.id)?.operations ?? operations.get(lastRunOf(node) ?? '') ?? [];
  return [...known].reverse().map((operation, index) => ({ key: `${index}`, text: wordsOf(operation), traced: false }));
}

function wordsOf(operation: string): string {
  const { verb, detail } = operationWords(operation);
  return `${verb} ${detail}`.trim();
}

function lastRunWithoutHop(node: FlowNode, hops: readonly PathHop[]): string[] {
  if (node.kind !== 'JOB' || hops.some((hop) => hop.job === node.id)) return [];
  const run = lastRunOf(node);
  return run ? [run] : [];
}

function lastRunOf(node: FlowNode): string | undefined {
  return text(properties(node.properties).lastRun);
}
