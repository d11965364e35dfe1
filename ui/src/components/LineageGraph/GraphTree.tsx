import type { Scene, SceneCard } from '../../graph/scene';
import type { NodeFacts } from '../../hooks/useFacts';

interface GraphTreeProps {
  scene: Scene;
  facts: ReadonlyMap<string, NodeFacts>;
  onSelect: (id: string) => void;
}

/** The drawing as a list of lists for screen readers, in the order of the data. The drawing itself only contains visible cards. */
export function GraphTree({ scene, facts, onSelect }: GraphTreeProps) {
  const ids = new Set(scene.cards.map(({ id }) => id));
  const byParent = Map.groupBy(scene.cards, ({ parent }) => (parent !== undefined && ids.has(parent) ? parent : ''));
  const targets = Map.groupBy(scene.links, ({ srcCard }) => srcCard);
  const titles = new Map(scene.cards.map(({ id, title, caption }) => [id, `${title}, ${caption}`]));
  const list = (cards: readonly SceneCard[]) => (
    <ul>
      {cards.map(({ id, cut }) => {
        const into = new Set((targets.get(id) ?? []).map(({ dstCard }) => titles.get(dstCard)));
        const fact = facts.get(id);
        const words = [
          titles.get(id),
          fact?.text,
          into.size > 0 && `flows into ${[...into].join('; ')}`,
          cut && 'the drawing is cut here',
        ];
        const content = byParent.get(id);
        return (
          <li key={id}>
            <button type="button" tabIndex={-1} onClick={() => onSelect(id)}>
              {words.filter(Boolean).join('. ')}
            </button>
            {content && list(content)}
          </li>
        );
      })}
    </ul>
  );
  return (
    <nav className="visually-hidden" aria-label="Lineage as a list">
      {list(byParent.get('') ?? [])}
    </nav>
  );
}
