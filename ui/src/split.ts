import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

export type Split<Props> = LazyExoticComponent<ComponentType<Props>> & {
  /** Fetch the script before the component is drawn. */
  preload: () => Promise<unknown>;
};

/** A component in a script of its own. */
export function split<Props>(load: () => Promise<ComponentType<Props>>): Split<Props> {
  return Object.assign(
    lazy(async () => ({ default: await load() })),
    { preload: load },
  );
}

/** Fetch scripts for the next clicks, once the browser has nothing else to do. */
export function preloadLater(...parts: readonly Pick<Split<never>, 'preload'>[]): void {
  const load = () => {
    for (const part of parts) void part.preload();
  };
  // Safari has no calls for idle time.
  if ('requestIdleCallback' in window) requestIdleCallback(load);
  else setTimeout(load);
}
