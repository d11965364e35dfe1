import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { type Direction, LineageDocument, type LineageQuery, LineageShapeDocument } from '../api/generated/graphql';
import { request } from '../api/request';
import type { Growth } from '../graph/neighbourhood';
import type { GraphNode, LineageGraph } from '../graph/types';

/** How many hops are followed: from dataset to dataset it takes two. */
export const DEPTH = 12;
/** More nodes than are ever drawn, so that jobs that are many leave room for the datasets beyond them. */
const NEAREST = 300;
const BESIDE = 2000;

/** Datasets and jobs around a dataset, the nearest of them. */
export function useLineage(dataset: string | undefined, direction: Direction) {
  return useQuery({
    ...shapeQuery(dataset === undefined ? [] : [dataset], direction, DEPTH, NEAREST),
    enabled: dataset !== undefined,
  });
}

/** What lies beside the nodes that the reader let the drawing grow at. What is not there yet is absent. */
export function useGrown(grown: readonly Growth[]): readonly LineageGraph[] {
  const wanted = new Map(grown.map((growth) => [`${growth.side} ${growth.id}`, growth]));
  return useQueries({
    queries: [...wanted.values()].map(({ id, side }) =>
      shapeQuery([id], side === 'before' ? 'UPSTREAM' : 'DOWNSTREAM', 2, NEAREST),
    ),
    combine: arrived,
  });
}

/** The nodes drawn with their neighbours, for the number of those that are not drawn. */
export function useBeside(nodes: readonly string[], enabled: boolean): LineageGraph | undefined {
  const query = shapeQuery([...nodes].sort(), 'BOTH', 1, BESIDE);
  return useQuery({ ...query, enabled: enabled && nodes.length > 0, placeholderData: keepPreviousData }).data;
}

/** What is known of nodes beside their names, by their id: schemas, last runs. What is not there yet is absent. */
export function useFacts(nodes: readonly string[]): ReadonlyMap<string, GraphNode> {
  const wanted = [...new Set(nodes)].sort();
  return useQueries({
    queries: wanted.map(factsQuery),
    combine: byId,
  });
}

/** What is known of one node beside its name, or why that is not known. */
export function useFact(node: string | undefined) {
  return useQuery({
    ...factsQuery(node ?? ''),
    enabled: node !== undefined,
    select: ({ lineage }): GraphNode | undefined => lineage.nodes.find(({ id }) => id === node),
  });
}

function factsQuery(id: string) {
  return {
    queryKey: ['facts', id],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      request(LineageDocument, { focus: [id], direction: 'BOTH', depth: 0, kinds: ['READS'] }, signal),
  };
}

/** Combiners stand here, not inline: of one that is new with every render, so is the answer. */
function arrived<Answer>(results: readonly { data: Answer | undefined }[]): Answer[] {
  return results.flatMap(({ data }) => data ?? []);
}

function byId(results: readonly { data: LineageQuery | undefined }[]): Map<string, GraphNode> {
  return new Map(results.flatMap(({ data }) => data?.lineage.nodes ?? []).map((node) => [node.id, node]));
}

function shapeQuery(focus: readonly string[], direction: Direction, depth: number, limit: number) {
  return {
    queryKey: ['lineage', focus, direction, depth, limit],
    queryFn: async ({ signal }: { signal: AbortSignal }): Promise<LineageGraph> => {
      const asked = { focus: [...focus], direction, depth, limit };
      return (await request(LineageShapeDocument, asked, signal)).lineage;
    },
  };
}
