import { useSyncExternalStore } from 'react';
import { formatLocation, type Location, parseLocation } from '../location/location';

const CHANGED = 'headwater:navigate';
let cached: { search: string; location: Location } | undefined;

/** The page's state as its address says it, and the way to another. */
export function useLocation(): Location {
  return useSyncExternalStore(subscribe, current);
}

/** Go somewhere. `replace` leaves no step for the browser's back button: for changes of view, not of place. */
export function navigate(location: Location, { replace = false } = {}): void {
  const address = hrefOf(location);
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  dispatchEvent(new Event(CHANGED));
}

/** The address of a place, for links. */
export function hrefOf(location: Location): string {
  return globalThis.location.pathname + formatLocation(location);
}

function subscribe(changed: () => void): () => void {
  addEventListener('popstate', changed);
  addEventListener(CHANGED, changed);
  return () => {
    removeEventListener('popstate', changed);
    removeEventListener(CHANGED, changed);
  };
}

function current(): Location {
  const { search } = globalThis.location;
  if (cached?.search !== search) cached = { search, location: parseLocation(search) };
  return cached.location;
}
