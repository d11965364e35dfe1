import { type RefObject, useEffect } from 'react';

/**
 * Give the focus to an element that opens. When it closes, the focus returns to the element before, so the keyboard keeps its place. If that is
 * gone, the focus goes to the card of the graph with the given id.
 */
export function useReturnFocus(opened: RefObject<HTMLElement | null>, card = ''): void {
  useEffect(() => {
    const before = document.activeElement;
    const { current } = opened;
    current?.focus({ preventScroll: true });
    return () => {
      // The reader can have moved the focus already.
      const isOutside = document.activeElement !== document.body && !current?.contains(document.activeElement);
      if (!isOutside && before instanceof HTMLElement) restoreFocus(before, card);
    };
  }, [opened, card]);
}

/** A graph draws its cards again, so the element before can be another one with the same name. */
function restoreFocus(before: HTMLElement, card: string): void {
  const name = before.getAttribute('aria-label') ?? before.textContent;
  const isSame = (each: HTMLElement) => (each.getAttribute('aria-label') ?? each.textContent) === name;
  const target = before.isConnected
    ? before
    : [...document.querySelectorAll<HTMLElement>(before.tagName)].find((each) => isSame(each));
  const drawn = document.querySelector<HTMLElement>(`[data-card="${CSS.escape(card)}"]`);
  (target ?? drawn ?? document.getElementById('main'))?.focus({ preventScroll: true });
}
