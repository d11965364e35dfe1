import { linkId } from './flow';
import type { PathHop } from './types';

/** The datasets, jobs and links on the path of a trace. */
export interface Highlight {
  nodes: Set<string>;
  links: Set<string>;
  /** Links and nodes that the trace crosses at a coarser grain than the record. */
  coarse: Set<string>;
}

/** The highlighted part of a graph. `ends` are further datasets, for a trace without hops. */
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

/** Sort hops in the order of the data: each hop comes after the writers of its inputs. */
export function inDataOrder(hops: readonly PathHop[]): PathHop[] {
  const ordered: PathHop[] = [];
  const waiting = new Set(hops);
  while (waiting.size > 0) {
    const ready = [...waiting].filter(
      (hop) => ![...waiting].some((other) => other !== hop && hop.inputs.includes(other.output)),
    );
    // A cycle, for example a job that overwrites its input, has no first hop.
    for (const hop of ready.length > 0 ? ready : [...waiting]) {
      ordered.push(hop);
      waiting.delete(hop);
    }
  }
  return ordered;
}

/** The datasets where a trace ends. No run on the path wrote them (backward) or read them (forward). */
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
