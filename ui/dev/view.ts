/** Views of the development world, worked out by walking paths: enough to see levels, masks and links through what is hidden. */
import { EDGES, NODES, type WorldNode } from './world.ts';

export interface ViewArguments {
  view: {
    focus: string[];
    data: string;
    actors: string;
    endsOnly: boolean;
    open?: { id: string; level: string }[];
    masks: { by: string; values: string[]; negated: boolean }[];
  };
}

type Pair = [src: string, dst: string];
const FLOWS: Pair[] = EDGES.flatMap((edge) =>
  edge.kind === 'READS' || edge.kind === 'WRITES' ? [[edge.src, edge.dst]] : [],
);

const node = (id: string) => NODES.find((candidate) => candidate.id === id);

/** The node that is drawn for another one: its nearest container at one of the levels, or at the level of an open container around it. */
function lift(id: string, levels: string[], open: { id: string; level: string }[] = []): string {
  const chain: WorldNode[] = [];
  for (let at = node(id); at; at = node(at.parent ?? '')) chain.push(at);
  const own = open.filter((each) => chain.some((container) => container.id === each.id)).map(({ level }) => level);
  const lifted = chain.find(({ kind }) => own.includes(kind)) ?? chain.find(({ kind }) => levels.includes(kind));
  return lifted?.id ?? id;
}

function cone(start: string[], step: (pair: Pair) => Pair): Set<string> {
  const found = new Set(start);
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const [near, far] of FLOWS.map(step)) if (found.has(near)) found.add(far);
  }
  return found;
}

function like(pattern: string, name: string): boolean {
  const escaped = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`, 'i').test(name);
}

function isHidden({ kind, name }: WorldNode, { masks }: ViewArguments['view']): boolean {
  return masks.some(({ by, values, negated }) => {
    const matches = values.some((value) => (by === 'KIND' ? kind.toLowerCase() === value : like(value, name)));
    return matches !== negated;
  });
}

/** What a walk from a node meets: the visible nodes it ends at, each with the hidden ones between. */
function ahead(at: string, flows: Pair[], hidden: ReadonlySet<string>, passed: string[] = []): [string, string[]][] {
  return flows.flatMap(([src, dst]): [string, string[]][] => {
    if (src !== at || passed.includes(dst)) return [];
    return hidden.has(dst) ? ahead(dst, flows, hidden, [...passed, dst]) : [[dst, passed]];
  });
}

export function view({ view: asked }: ViewArguments) {
  const reached = new Set([...cone(asked.focus, ([src, dst]) => [dst, src]), ...cone(asked.focus, (pair) => pair)]);
  const levels = [asked.data, asked.actors];
  const liftTo = (id: string) => lift(id, levels, asked.open);
  const upstream = cone(asked.focus, ([src, dst]) => [dst, src]);
  const flows = FLOWS.filter((pair) => pair.every((end) => reached.has(end))).map(
    ([src, dst]): Pair => [liftTo(src), liftTo(dst)],
  );
  const all = [...new Set([...reached].map(liftTo))];
  const focus = asked.focus.map(liftTo);
  const isEnd = (id: string) => !flows.some((pair) => pair[0] === id) || !flows.some((pair) => pair[1] === id);
  const hidden = new Set(
    all.filter((id) => {
      const known = node(id);
      return !focus.includes(id) && known && (isHidden(known, asked) || (asked.endsOnly && !isEnd(id)));
    }),
  );
  const visible = all.filter((id) => !hidden.has(id));
  const links = new Map<
    string,
    { src: string; dst: string; weight: number; direct: boolean; via: number; masked: string[] }
  >();
  for (const src of visible) {
    for (const [dst, passed] of ahead(src, flows, hidden)) {
      if (dst === src) continue;
      const known = links.get(`${src} ${dst}`);
      const masked = [...new Set([...(known?.masked ?? []), ...passed])];
      const direct = (known?.direct ?? false) || passed.length === 0;
      links.set(`${src} ${dst}`, { src, dst, weight: (known?.weight ?? 0) + 1, direct, via: masked.length, masked });
    }
  }
  return {
    nodes: visible.map((id) => ({
      node: node(id),
      members: [...reached].filter((member) => liftTo(member) === id).length,
      distance: focus.includes(id) ? 0 : 1,
      focus: focus.includes(id),
      upstream: upstream.has(id),
      downstream: !upstream.has(id),
      wholly: true,
    })),
    edges: [...links.values()],
    totals: { nodes: visible.length, edges: links.size, masked: hidden.size, beyond: 0 },
    cursor: null,
    notes: [],
  };
}

export function viewLink(asked: ViewArguments & { src: string; dst: string }) {
  const link = view(asked).edges.find(({ src, dst }) => src === asked.src && dst === asked.dst);
  return {
    pairs: link ? [{ src: link.src, dst: link.dst }] : [],
    total: link ? 1 : 0,
    masked: link?.masked.map(node) ?? [],
    maskedTotal: link?.via ?? 0,
    withheld: 0,
  };
}
