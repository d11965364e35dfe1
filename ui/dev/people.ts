/** What people state in the development world: descriptions of nodes, saved views, and notification rules. */
import { GraphQLError } from 'graphql';

interface Change {
  aspect: 'OWNER' | 'STEWARD' | 'TAG' | 'TERM' | 'DESCRIPTION';
  value: string;
  removed: boolean;
}

interface Described {
  owners: string[];
  stewards: string[];
  tags: string[];
  tagValues: string[];
  terms: string[];
  description: string | null;
  statements: object[];
}

interface View {
  id: string;
  name: string;
  location: string;
  shared: boolean;
  mine: boolean;
  owner: string;
}

const NOTHING: Described = {
  owners: [],
  stewards: [],
  tags: [],
  tagValues: [],
  terms: [],
  description: null,
  statements: [],
};
const PARTS = { OWNER: 'owners', STEWARD: 'stewards', TAG: 'tags', TERM: 'terms' } as const;
const TERMS = [
  {
    id: 'term:Delay',
    name: 'Delay',
    broader: null,
    level: 0,
    description: 'Minutes behind the plan.',
    owners: ['ann'],
  },
  { id: 'term:Departure%20delay', name: 'Departure delay', broader: 'Delay', level: 1, description: null, owners: [] },
];

function apply(node: Described, { aspect, value, removed }: Change): void {
  if (aspect === 'DESCRIPTION') node.description = removed ? null : value;
  else {
    const rest = node[PARTS[aspect]].filter((each) => each !== value);
    node[PARTS[aspect]] = removed ? rest : [...rest, value];
  }
  const stated = { aspect: aspect.toLowerCase(), value, by: 'ann', at: '2026-02-03T09:31:04Z' };
  node.statements.push({ ...stated, produced: false, removed, overruled: false });
}

export function people() {
  const described = new Map<string, Described>();
  const views: View[] = [];
  const describe = (id: string, changes: Change[]) => {
    const before = described.get(id) ?? NOTHING;
    if (changes.some(({ value }) => value === 'refused'))
      throw new GraphQLError('This session may read, not declare.', { extensions: { code: 'ForbiddenError' } });
    const after = structuredClone(before);
    for (const change of changes) apply(after, change);
    described.set(id, after);
    return after;
  };
  const view = (id: string) => {
    const found = views.find((each) => each.id === id);
    if (!found)
      throw new GraphQLError(`There is no saved view ${id}.`, {
        extensions: { code: 'NotFoundError', transient: false },
      });
    return found;
  };
  return {
    descriptionsOf: (node: { id: string; descriptions?: object }) =>
      described.get(node.id) ?? { ...NOTHING, ...node.descriptions },
    query: {
      glossary: () => ({ terms: TERMS.map((term) => ({ ...term, stewards: [] })), cut: false }),
      savedViews: () => views,
      notificationTargets: () => [{ name: 'team', kind: 'mail' }],
    },
    mutation: {
      describe: (_: unknown, { node, changes }: { node: string; changes: Change[] }) => describe(node, changes),
      saveView: (
        _: unknown,
        { name, location, shared, replace }: Pick<View, 'name' | 'location' | 'shared'> & { replace: boolean },
      ) => {
        const known = views.findIndex((each) => each.name === name);
        if (known >= 0 && !replace)
          throw new GraphQLError(`You have a view '${name}' already.`, {
            extensions: { code: 'InvalidInputError', transient: false },
          });
        if (known >= 0) views.splice(known, 1);
        const made = { id: `v${views.length}`, name, location, shared, mine: true, owner: 'ann' };
        views.push(made);
        return made;
      },
      changeView: (_: unknown, { id, name, shared }: { id: string; name?: string | null; shared?: boolean | null }) => {
        const found = view(id);
        return Object.assign(found, { name: name ?? found.name, shared: shared ?? found.shared });
      },
      removeView: (_: unknown, { id }: { id: string }) => {
        const found = view(id);
        views.splice(views.indexOf(found), 1);
        return found;
      },
    },
  };
}
