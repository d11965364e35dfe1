import { list, properties } from '../facts/read';
import { datasetOfColumn, nameOfColumn } from './ids';
import type { GraphEdge, LineageGraph } from './types';

/**
 * A column with all columns that its values come from (`backward`) or flow into (`forward`).
 * Columns that only affect the choice of rows are left out.
 */
export function columnTrail(graph: LineageGraph, column: string, direction: 'backward' | 'forward'): Set<string> {
  const next = new Map<string, string[]>();
  for (const edge of graph.edges) {
    if (edge.kind !== 'DERIVES' || !isDirect(edge)) continue;
    const [from, to] = direction === 'backward' ? [edge.dst, edge.src] : [edge.src, edge.dst];
    next.set(from, [...(next.get(from) ?? []), to]);
  }
  const trail = new Set([column]);
  for (const current of trail) for (const target of next.get(current) ?? []) trail.add(target); // the loop also visits new members
  return trail;
}

/** The datasets where the values of a column originate. */
export function sourcesOfColumn(graph: LineageGraph, column: string): string[] {
  const trail = columnTrail(graph, column, 'backward');
  const derived = new Set(
    graph.edges.filter((edge) => edge.kind === 'DERIVES' && isDirect(edge)).map((edge) => edge.dst),
  );
  return [...new Set([...trail].filter((id) => !derived.has(id)).map(datasetOfColumn))];
}

/** Column names by the id of their dataset. */
export function columnsByDataset(columns: Iterable<string>): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const column of columns) {
    const dataset = datasetOfColumn(column);
    names.set(dataset, (names.get(dataset) ?? new Set()).add(nameOfColumn(column)));
  }
  return names;
}

/** Transformations that make a column a key of the rows. */
const KEY_USES: ReadonlySet<unknown> = new Set(['GROUP_BY', 'JOIN', 'WINDOW']);

/** The columns by which a job joins or groups rows, and their unchanged copies. */
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

/** Whether values flow along a link. OpenLineage marks each transformation as DIRECT or INDIRECT. A link without a transformation counts as direct. */
export function isDirect(edge: GraphEdge): boolean {
  const transformations = list(properties(edge.properties).transformations);
  return transformations.length === 0 || transformations.some((transformation) => transformation.type !== 'INDIRECT');
}
