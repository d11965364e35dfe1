/** The highlighted path: a small store, so that a move of the pointer draws only the cards and links again that change. */
import { createContext, useContext, useSyncExternalStore } from 'react';

export interface PathStore {
  /** Ids of the cards, columns and links on the path, undefined without a path. */
  current: ReadonlySet<string> | undefined;
  set: (path: ReadonlySet<string> | undefined) => void;
  subscribe: (changed: () => void) => () => void;
}

export function makePathStore(): PathStore {
  const listeners = new Set<() => void>();
  const store: PathStore = {
    current: undefined,
    set: (path) => {
      if (store.current === path) return;
      store.current = path;
      for (const listener of listeners) listener();
    },
    subscribe: (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
  return store;
}

export const PathContext = createContext<PathStore>(makePathStore());

/** `lit` on the path, `away` outside of it, and `''` without a path. */
export function usePathState(id: string): 'lit' | 'away' | '' {
  const store = useContext(PathContext);
  return useSyncExternalStore(store.subscribe, () => (store.current ? (store.current.has(id) ? 'lit' : 'away') : ''));
}

/** The highlighted path, for a picture of the full drawing. */
export function usePath(): ReadonlySet<string> | undefined {
  const store = useContext(PathContext);
  return useSyncExternalStore(store.subscribe, () => store.current);
}
