import type { GraphNode } from '../graph/types';
import { number, properties, text } from './read';

/** The operations of a run's plan, outermost first, as its operator nodes state them. */
export function operationsOf(nodes: readonly GraphNode[]): string[] {
  const facts = nodes.map((node) => ({ node, own: properties(node.properties) }));
  facts.sort((a, b) => (number(a.own.ordinal) ?? 0) - (number(b.own.ordinal) ?? 0));
  return facts.map(({ node, own }) => text(own.text) ?? node.name);
}
