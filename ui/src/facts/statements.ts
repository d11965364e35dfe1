/** What people state of a node: the changes between two states, and the faults of a name. The service checks the same again. */
import type { DescribedAspect, DescribedFragment, DescriptionChange } from '../api/generated/graphql';

export const MOST_NAME = 200;
export const MOST_TEXT = 20_000;

type Descriptions = DescribedFragment['descriptions'];

/** The parts that the form changes. */
export interface Stated {
  owners: readonly string[];
  stewards: readonly string[];
  tags: readonly string[];
  terms: readonly string[];
  description: string;
}

const MANY: readonly [keyof Omit<Stated, 'description'>, DescribedAspect][] = [
  ['owners', 'OWNER'],
  ['stewards', 'STEWARD'],
  ['tags', 'TAG'],
  ['terms', 'TERM'],
];

/** The changes that lead from the present descriptions to the stated ones. */
export function changesOf(before: Descriptions, after: Stated): DescriptionChange[] {
  const changes = MANY.flatMap(([part, aspect]): DescriptionChange[] => [
    ...without(before[part], after[part]).map((value) => ({ aspect, value, removed: true })),
    ...without(after[part], before[part]).map((value) => ({ aspect, value, removed: false })),
  ]);
  const text = after.description.trim();
  if (text === (before.description ?? '').trim()) return changes;
  return [...changes, { aspect: 'DESCRIPTION', value: text, removed: text === '' }];
}

function without(names: readonly string[], others: readonly string[]): string[] {
  return names.filter((name) => !others.includes(name));
}

/** Characters that nobody sees, and those that turn the direction of the text after them. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** The reason why a name cannot be used. */
export function faultOf(name: string): string | undefined {
  if ([...name].length > MOST_NAME) return `A name has at most ${MOST_NAME} characters.`;
  const [unseen] = UNSEEN.exec(name) ?? [];
  if (unseen === undefined) return undefined;
  const code = (unseen.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `The name contains U+${code}, which nobody sees. Remove it.`;
}
