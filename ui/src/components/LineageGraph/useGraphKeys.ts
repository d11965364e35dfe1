import { type RefObject, useEffect } from 'react';
import type { Scene, SceneCard } from '../../graph/scene';
import { finerLevel } from '../../graph/view';
import type { GraphState } from '../../location/location';
import type { GraphActions } from './graphContext';

interface GraphKeys {
  scene: Scene;
  showAll: () => void;
  showCard: (id: string) => Promise<unknown>;
  actions: GraphActions;
  state: GraphState;
  onState: (state: GraphState) => void;
}

/**
 * Keys in the graph: the arrows follow links and walk along a column, `+` draws the content of a card inside it, `-` draws it as one card
 * again, `0` shows the whole. Escape closes the large drawing.
 */
export function useGraphKeys(frame: RefObject<HTMLElement | null>, keys: GraphKeys): void {
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      const { target } = event;
      if (target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
      const id = target instanceof HTMLElement ? target.dataset.card : undefined;
      if (press(event.key, id, element, keys)) event.preventDefault();
    };
    element.addEventListener('keydown', onKeyDown);
    return () => element.removeEventListener('keydown', onKeyDown);
  });
}

/** Whether the key did something. */
function press(key: string, id: string | undefined, element: HTMLElement, keys: GraphKeys): boolean {
  const { scene, showAll, showCard, actions, state, onState } = keys;
  const card = scene.cards.find((each) => each.id === id);
  const focus = (next: SceneCard | undefined) => {
    if (!next) return false;
    // A card outside of the window is drawn after the move.
    if (!focusCard(element, next.id)) void showCard(next.id).then(() => focusSoon(element, next.id));
    else void showCard(next.id);
    return true;
  };
  if (key === '0') showAll();
  else if (key === 'Escape' && state.isLarge && !state.selected) onState(withoutLarge(state));
  else if (!card) return false;
  else if (key === 'ArrowRight' || key === 'ArrowLeft') return focus(nextAlong(scene, card, key));
  else if (key === 'ArrowDown' || key === 'ArrowUp') return focus(nextInColumn(scene, card, key));
  else if (key === '+' || key === '=') enter(card, actions);
  else if (key === '-') leave(card, actions);
  else return false;
  return true;
}

function withoutLarge({ isLarge: _, ...state }: GraphState): GraphState {
  return state;
}

/** Whether the card is in the page and has the focus now. */
function focusCard(element: HTMLElement, id: string): boolean {
  const card = element.querySelector<HTMLElement>(`[data-card="${CSS.escape(id)}"]`);
  card?.focus({ preventScroll: true });
  return card !== null;
}

const FRAMES = 30;

/** Give a card the focus as soon as it is in the page. */
function focusSoon(element: HTMLElement, id: string, frames = FRAMES): void {
  if (focusCard(element, id) || frames === 0) return;
  requestAnimationFrame(() => focusSoon(element, id, frames - 1));
}

function enter({ id, kind, isBox, columns }: SceneCard, { onEnter }: GraphActions): void {
  const level = finerLevel(kind);
  if (level && !isBox && !columns) onEnter?.(id, level);
}

/** Close the box itself, or the box around the card. */
function leave({ id, isBox, parent }: SceneCard, { onLeave }: GraphActions): void {
  const box = isBox ? id : parent;
  if (box !== undefined) onLeave?.(box);
}

/** The nearest card at the other end of a link. */
function nextAlong(
  { cards, links }: Scene,
  { id, y }: SceneCard,
  key: 'ArrowRight' | 'ArrowLeft',
): SceneCard | undefined {
  const ids = links.flatMap(({ srcCard, dstCard }) =>
    key === 'ArrowRight' ? (srcCard === id ? [dstCard] : []) : dstCard === id ? [srcCard] : [],
  );
  const others = cards.filter((card) => card.id !== id && ids.includes(card.id));
  return others.sort((a, b) => Math.abs(a.y - y) - Math.abs(b.y - y))[0];
}

/** The next card above or below. */
function nextInColumn({ cards }: Scene, card: SceneCard, key: 'ArrowUp' | 'ArrowDown'): SceneCard | undefined {
  const sign = key === 'ArrowDown' ? 1 : -1;
  const column = cards.filter(({ x, width }) => x < card.x + card.width && x + width > card.x);
  const others = column.filter(({ y }) => (y - card.y) * sign > 0);
  return others.sort((a, b) => (a.y - b.y) * sign)[0];
}
