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
