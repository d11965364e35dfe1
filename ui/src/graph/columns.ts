import { list, properties } from '../facts/read';
import { datasetOfColumn, nameOfColumn } from './ids';
import type { GraphEdge, LineageGraph } from './types';

export interface ColumnLink {
  id: string;
  /** Ids of the columns. */
  src: string;
  dst: string;
  srcDataset: string;
  dstDataset: string;
  /** Whether values flow along it; else it only decides which rows there are (a filter, a grouping, a join's condition). */
  direct: boolean;
}

/**
 * Columns whose values a column was made from (`backward`) or went into (`forward`), itself included, over any number of steps.
 * What only decided which rows there are is left out.
 */
export function columnTrail(graph: LineageGraph, column: string, direction: 'backward' | 'forward'): Set<string> {
  const next = new Map<string, string[]>();
  for (const edge of graph.edges) {
    if (edge.kind !== 'DERIVES' || !isDirect(edge)) continue;
    const [from, to] = direction === 'backward' ? [edge.dst, edge.src] : [edge.src, edge.dst];
    next.set(from, [...(next.get(from) ?? []), to]);
  }
  const trail = new Set([column]);
  for (const reached of trail) for (const further of next.get(reached) ?? []) trail.add(further); // a set yields what is added on the way
  return trail;
}

/** The datasets in which the values of a column begin: those of its trail backward that nothing further is known of. */
export function sourcesOfColumn(graph: LineageGraph, column: string): string[] {
  const trail = columnTrail(graph, column, 'backward');
  const derived = new Set(
    graph.edges.filter((edge) => edge.kind === 'DERIVES' && isDirect(edge)).map((edge) => edge.dst),
  );
  return [...new Set([...trail].filter((id) => !derived.has(id)).map(datasetOfColumn))];
}

/** Names of the columns on a trail, by the id of their dataset. */
export function columnsByDataset(columns: Iterable<string>): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const column of columns) {
    const dataset = datasetOfColumn(column);
    found.set(dataset, (found.get(dataset) ?? new Set()).add(nameOfColumn(column)));
  }
  return found;
}

/** The column-to-column links that can be drawn, both of whose datasets are open. */
export function columnLinks(graph: LineageGraph, open: ReadonlySet<string>): ColumnLink[] {
  return graph.edges
    .filter((edge) => edge.kind === 'DERIVES')
    .map((edge) => ({
      id: `${edge.src}→${edge.dst}`,
      src: edge.src,
      dst: edge.dst,
      srcDataset: datasetOfColumn(edge.src),
      dstDataset: datasetOfColumn(edge.dst),
      direct: isDirect(edge),
    }))
    .filter((link) => open.has(link.srcDataset) && open.has(link.dstDataset));
}

/** What a job does with a column by which it groups or joins: then the column is a key of its rows. */
const KEY_USES: ReadonlySet<unknown> = new Set(['GROUP_BY', 'JOIN', 'WINDOW']);

/** The columns that are keys: those by which a job joins or groups rows, and those that carry such a column on unchanged. */
export function keyColumns(edges: readonly GraphEdge[]): Set<string> {
  const keys = new Set<string>();
  for (const edge of edges) {
    if (edge.kind !== 'DERIVES') continue;
    const uses = list(properties(edge.properties).transformations).map(({ subtype }) => subtype);
    if (!uses.some((use) => KEY_USES.has(use))) continue;
    keys.add(edge.src);
    if (uses.includes('IDENTITY')) keys.add(edge.dst);
  }
  return keys;
}

/** OpenLineage says of each transformation whether it is DIRECT or INDIRECT; a link without any is taken for direct. */
function isDirect(edge: GraphEdge): boolean {
  const transformations = list(properties(edge.properties).transformations);
  return transformations.length === 0 || transformations.some((transformation) => transformation.type !== 'INDIRECT');
}
