import { useMemo } from 'react';
import { properties, text } from '../facts/read';
import { schemaOf } from '../facts/schema';
import { columnId } from '../graph/ids';
import { type Draft, type Line, makeScene, type Scene } from '../graph/scene';
import type { GraphNode, PathHop } from '../graph/types';
import { wordsOfOperation } from '../trace/operation';
import { useDerivations, useNodes, useOperations } from './useLineage';

/** The part of a trace that the lines of cards show. */
export interface TraceLines {
  hops: readonly PathHop[];
  /** Ids of the columns on the trail of the traced column. */
  columns: ReadonlySet<string>;
}

/** Load the lines of the open cards, and place all cards. */
export function useScene(draft: Draft, open: ReadonlySet<string>, trace?: TraceLines): Scene {
  const cards = draft.cards.filter(({ id }) => open.has(id));
  const nodes = useNodes(cards.map(({ id }) => id));
  const columns = cards.flatMap(({ id }) => columnLines(nodes.get(id)).map(({ key }) => key));
  const listed = draft.cards.flatMap((card) => card.columns ?? []);
  const derivations = useDerivations([...columns, ...listed]).data;
  const operations = useOperations(
    cards.flatMap(({ id }) => (findHop(id, trace) ? [] : (lastRunOf(nodes.get(id)) ?? []))),
  );
  return useMemo(() => {
    const lines = new Map<string, Line[]>();
    for (const [id, node] of nodes) {
      const runOperations = findHop(id, trace)?.operations ?? operations.get(lastRunOf(node) ?? '') ?? [];
      lines.set(id, node.kind === 'DATASET' ? columnLines(node) : operationLines(runOperations));
    }
    return makeScene({
      draft,
      open,
      lines,
      ...(derivations && { derivations: derivations.edges }),
      ...(trace && { tracedColumns: trace.columns }),
    });
  }, [draft, open, nodes, derivations, operations, trace]);
}

function columnLines(node: GraphNode | undefined): Line[] {
  if (node?.kind !== 'DATASET') return [];
  return schemaOf(node.properties).map(({ name, type }) => ({ key: columnId(node.id, name), text: name, note: type }));
}

/** Operations in the order of the data: scans first. */
function operationLines(operations: readonly string[]): Line[] {
  return operations.toReversed().map((operation, index) => {
    const { verb, detail } = wordsOfOperation(operation);
    return { key: `${index}`, text: `${verb} ${detail}`.trim() };
  });
}

function findHop(job: string, trace: TraceLines | undefined): PathHop | undefined {
  return trace?.hops.find((hop) => hop.job === job);
}

/** The last run of a job. Nodes of other kinds have none. */
function lastRunOf(node: GraphNode | undefined): string | undefined {
  return text(properties(node?.properties).lastRun);
}
