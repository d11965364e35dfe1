import { type RefObject, useEffect } from 'react';

/** Give the focus to an element that opens. When it closes, the focus returns to the element before, so the keyboard keeps its place. */
export function useReturnFocus(opened: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const before = document.activeElement;
    const { current } = opened;
    current?.focus({ preventScroll: true });
    return () => {
      // The reader can have moved the focus already.
      const isOutside = document.activeElement !== document.body && !current?.contains(document.activeElement);
      if (!isOutside && before instanceof HTMLElement) restoreFocus(before);
    };
  }, [opened]);
}

/** A graph draws its cards again, so the element before can be another one with the same name. */
function restoreFocus(before: HTMLElement): void {
  const name = before.getAttribute('aria-label') ?? before.textContent;
  const isSame = (each: HTMLElement) => (each.getAttribute('aria-label') ?? each.textContent) === name;
  const target = before.isConnected
    ? before
    : [...document.querySelectorAll<HTMLElement>(before.tagName)].find((each) => isSame(each));
  (target ?? document.getElementById('main'))?.focus({ preventScroll: true });
}
