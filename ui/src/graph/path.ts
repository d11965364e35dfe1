import { linkId } from './flow';
import type { PathHop } from './types';

/** What a trace went through: datasets, jobs and the links between them. */
export interface Highlight {
  nodes: Set<string>;
  links: Set<string>;
  /** Links and nodes that were crossed at a coarser grain than the record. */
  coarse: Set<string>;
}

/** The highlighted part of a graph. `ends` are datasets that belong to it although no hop touches them (a trace that stays where it began). */
export function highlightOf(hops: readonly PathHop[], ends: readonly string[] = []): Highlight {
  const highlight: Highlight = { nodes: new Set(ends), links: new Set(), coarse: new Set() };
  for (const hop of hops) {
    const links = [linkId(hop.job, hop.output), ...hop.inputs.map((input) => linkId(input, hop.job))];
    for (const node of [hop.job, hop.output, ...hop.inputs]) highlight.nodes.add(node);
    for (const link of links) highlight.links.add(link);
    if (hop.grain !== 'RECORD') for (const part of [hop.job, ...links]) highlight.coarse.add(part);
  }
  return highlight;
}

/** The hops in the order in which the data flowed: a hop stands after those that wrote what it read. */
export function inDataOrder(hops: readonly PathHop[]): PathHop[] {
  const ordered: PathHop[] = [];
  const waiting = new Set(hops);
  while (waiting.size > 0) {
    const ready = [...waiting].filter(
      (hop) => ![...waiting].some((other) => other !== hop && hop.inputs.includes(other.output)),
    );
    // A cycle (a job that overwrites its input) has no first hop: take them as they came.
    for (const hop of ready.length > 0 ? ready : [...waiting]) {
      ordered.push(hop);
      waiting.delete(hop);
    }
  }
  return ordered;
}

/** The datasets where a trace ends: those that no run on its path wrote (backward), or that none read (forward). */
export function endsOf(hops: readonly PathHop[], direction: 'backward' | 'forward'): string[] {
  const [inner, outer] = direction === 'backward' ? [outputs(hops), inputs(hops)] : [inputs(hops), outputs(hops)];
  return [...outer].filter((dataset) => !inner.has(dataset));
}

function outputs(hops: readonly PathHop[]): Set<string> {
  return new Set(hops.map((hop) => hop.output));
}

function inputs(hops: readonly PathHop[]): Set<string> {
  return new Set(hops.flatMap((hop) => hop.inputs));
}
