import { useReactFlow } from '@xyflow/react';
import { type RefObject, useEffect } from 'react';
import type { Scene, SceneCard } from '../../graph/scene';
import { finerLevel } from '../../graph/view';
import type { GraphActions } from './graphContext';

/** Beyond these scales, a turn of the wheel over a card changes its level. */
const [IN, OUT] = [1.6, 0.6];
const PAUSE_MS = 600;

/**
 * The wheel with Ctrl, and a pinch, scale the drawing. Over a card that is already large, they draw its content inside it. Over a box that
 * is already small, they draw it as one card again.
 */
export function useWheelLevels(canvas: RefObject<HTMLElement | null>, scene: Scene, actions: GraphActions): void {
  const { getZoom, screenToFlowPosition } = useReactFlow();
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    let last = 0;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      const now = event.timeStamp;
      if (now - last < PAUSE_MS) return;
      const under = cardsAt(scene, screenToFlowPosition({ x: event.clientX, y: event.clientY }));
      if (changeLevel(event.deltaY < 0, getZoom(), under, actions)) last = now;
    };
    element.addEventListener('wheel', onWheel, { capture: true, passive: true });
    return () => element.removeEventListener('wheel', onWheel, { capture: true });
  });
}

/** The cards and boxes at a point, the innermost first. */
function cardsAt({ cards }: Scene, { x, y }: { x: number; y: number }): SceneCard[] {
  return cards
    .filter((card) => x >= card.x && x <= card.x + card.width && y >= card.y && y <= card.y + card.height)
    .sort((a, b) => a.width * a.height - b.width * b.height);
}

function changeLevel(isInwards: boolean, zoom: number, under: readonly SceneCard[], actions: GraphActions): boolean {
  if (isInwards && zoom >= IN) {
    const [card] = under;
    const level = card && finerLevel(card.kind);
    if (!level || card.isBox || card.isLeaf || card.columns || !actions.onEnter) return false;
    actions.onEnter(card.id, level);
    return true;
  }
  const box = under.find(({ isBox }) => isBox);
  if (isInwards || zoom > OUT || !box || !actions.onLeave) return false;
  actions.onLeave(box.id);
  return true;
}
