import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import {
  LineageDocument,
  type LineageQuery,
  LineageShapeDocument,
  type LineageShapeQuery,
  NodeDocument,
  type NodeQuery,
} from '../api/generated/first/graphql';
import type { Direction, NodeKind } from '../api/generated/graphql';
import { queryOf } from '../api/query';
import type { Growth } from '../graph/neighbourhood';
import type { GraphNode, LineageGraph } from '../graph/types';
import { DEPTH } from '../graph/zoom';
import { operationsOf } from '../trace/operation';

/** More nodes than a drawing holds, so that a large number of jobs leaves space for the datasets behind them. */
const MAX_NODES = 300;
const MAX_NEIGHBOURS = 2000;
const MAX_CHILDREN = 200;

/** The datasets and jobs nearest to a dataset. */
export function useLineage(dataset: string, direction: Direction, { enabled = true, cards = 0 } = {}) {
  return useQuery({ ...shapeQuery([dataset], direction, DEPTH, Math.max(MAX_NODES, 2 * cards)), enabled });
}

/** The neighbours of the nodes at which the reader let the drawing grow, as far as they are loaded. */
export function useGrowth(growth: readonly Growth[]): readonly LineageGraph[] {
  const distinct = new Map(growth.map((each) => [`${each.side} ${each.id}`, each]));
  return useQueries({
    queries: [...distinct.values()].map(({ id, side }) =>
      shapeQuery([id], side === 'before' ? 'UPSTREAM' : 'DOWNSTREAM', 2, MAX_NODES),
    ),
    combine: collectData,
  });
}

/** The nodes with all their direct neighbours. */
export function useNeighbours(nodes: readonly string[], enabled: boolean): LineageGraph | undefined {
  const query = shapeQuery(nodes.toSorted(), 'BOTH', 1, MAX_NEIGHBOURS);
  return useQuery({ ...query, enabled: enabled && nodes.length > 0, placeholderData: keepPreviousData }).data;
}

/** Nodes with their properties by id, as far as they are loaded. */
export function useNodes(ids: readonly string[]): ReadonlyMap<string, GraphNode> {
  return useQueries({ queries: [...new Set(ids)].sort().map(factsQuery), combine: nodesById });
}

/** A node with its properties. */
export function useNode(id: string) {
  return useQuery({
    ...factsQuery(id),
    select: ({ lineage }): GraphNode | undefined => lineage.nodes.find((node) => node.id === id),
  });
}

/** A node and its children of one kind. */
export function useChildren(id: string, kind: NodeKind) {
  return useQuery({ ...childrenQuery(id, kind), select: (answer) => answer.node });
}

/** The operations of runs by the id of the run, as far as they are loaded. */
export function useOperations(runs: readonly string[]): ReadonlyMap<string, string[]> {
  return useQueries({ queries: runs.map((run) => childrenQuery(run, 'OPERATOR')), combine: operationsByRun });
}

/** The column derivations one step around some columns. */
export function useDerivations(columns: readonly string[]) {
  return useQuery({ ...columnQuery(columns.toSorted(), 1), placeholderData: keepPreviousData });
}

/** The column derivations upstream and downstream of a column. */
export function useColumnLineage(column: string | undefined) {
  return useQuery(columnQuery(column === undefined ? [] : [column], DEPTH));
}

function shapeQuery(focus: readonly string[], direction: Direction, depth: number, limit: number) {
  return {
    ...queryOf(LineageShapeDocument, { focus: [...focus], direction, depth, limit }),
    select: ({ lineage }: LineageShapeQuery): LineageGraph => lineage,
  };
}

function columnQuery(focus: string[], depth: number) {
  return {
    ...queryOf(LineageDocument, { focus, direction: 'BOTH', depth, kinds: ['DERIVES'] }),
    select: ({ lineage }: LineageQuery) => lineage,
    enabled: focus.length > 0,
  };
}

function factsQuery(id: string) {
  return queryOf(LineageDocument, { focus: [id], direction: 'BOTH', depth: 0, kinds: ['READS'] });
}

function childrenQuery(id: string, kind: NodeKind) {
  return queryOf(NodeDocument, { id, kinds: [kind], first: MAX_CHILDREN });
}

/* A combiner must be the same function in every render. Otherwise its result is new in every render, too. */

function collectData<Answer>(results: readonly { data: Answer | undefined }[]): Answer[] {
  return results.flatMap(({ data }) => data ?? []);
}

function nodesById(results: readonly { data: LineageQuery | undefined }[]): Map<string, GraphNode> {
  return new Map(collectData(results).flatMap(({ lineage }) => lineage.nodes.map((node) => [node.id, node])));
}

function operationsByRun(results: readonly { data: NodeQuery | undefined }[]): Map<string, string[]> {
  const runs = collectData(results).flatMap(({ node }) => node ?? []);
  return new Map(runs.map((run) => [run.id, operationsOf(run.children.nodes)]));
}
