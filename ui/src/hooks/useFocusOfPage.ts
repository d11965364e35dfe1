import { useEffect, useRef } from 'react';

/** When another page opens and its link is gone, move the focus to the content, so that Tab continues there and not at the top. */
export function useFocusOfPage(page: string): void {
  const last = useRef(page);
  useEffect(() => {
    if (last.current === page) return;
    last.current = page;
    if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true });
  }, [page]);
}
