/**
 * Warnings on cards. Stale data: what derives from a dataset whose last run failed is older than it looks. Suspects: the last complete run of a
 * job differs from the runs before it.
 */
import type { NodeFacts } from '../hooks/useFacts';
import type { SceneCard, SceneLink } from './scene';

const NO_FACT: NodeFacts = { state: 'unknown', age: '', text: '' };

/** The facts of all cards, where the descendants of datasets that a failed run did not write are marked as stale. */
export function markStale(
  facts: ReadonlyMap<string, NodeFacts>,
  cards: readonly Pick<SceneCard, 'id' | 'title'>[],
  links: readonly Pick<SceneLink, 'srcCard' | 'dstCard' | 'isFormer' | 'change'>[],
): ReadonlyMap<string, NodeFacts> {
  const failed = [...facts].filter(([id, { state }]) => state === 'failed' && id.startsWith('dataset:'));
  if (failed.length === 0) return facts;
  const titles = new Map(cards.map(({ id, title }) => [id, title]));
  const targets = Map.groupBy(
    links.filter(({ isFormer, change }) => !isFormer && change !== 'gone'),
    ({ srcCard }) => srcCard,
  );
  const marked = new Map(facts);
  for (const [origin] of failed) {
    const reached = new Set([origin]);
    for (const id of reached) {
      for (const { dstCard } of targets.get(id) ?? []) reached.add(dstCard); // the loop also visits new members
      const fact = marked.get(id) ?? NO_FACT;
      // A failed run says more than stale data, and the first cause of stale data is enough.
      if (fact.state !== 'failed' && fact.state !== 'stale')
        marked.set(id, staleFact(fact, titles.get(origin) ?? origin));
    }
  }
  return marked;
}

/** The facts of all cards, where jobs with unusual values have their number. */
export function markSuspects(
  facts: ReadonlyMap<string, NodeFacts>,
  suspects: ReadonlyMap<string, number>,
): ReadonlyMap<string, NodeFacts> {
  const marked = new Map(facts);
  for (const [job, unusual] of suspects) {
    const fact = facts.get(job);
    if (!fact || unusual === 0) continue;
    const reason = `${unusual} unusual ${unusual === 1 ? 'value' : 'values'}`;
    marked.set(job, { ...fact, unusual, text: `${fact.text}, ${reason}` });
  }
  return marked;
}

function staleFact({ age, text }: NodeFacts, origin: string): NodeFacts {
  const reason = `stale, because the last run that writes ${origin} failed`;
  return { state: 'stale', age, text: text ? `${text}; ${reason}` : reason };
}
