import { useSyncExternalStore } from 'react';
import { formatLocation, type Location, parseLocation } from '../location/location';

const CHANGED = 'headwater:navigate';
let cached: { search: string; location: Location } | undefined;

export function useLocation(): Location {
  return useSyncExternalStore(subscribe, current);
}

/** Change the address. Each change is a step for the browser's back button. */
export function navigate(location: Location): void {
  history.pushState(null, '', hrefOf(location));
  dispatchEvent(new Event(CHANGED));
}

/** Change the address without a step for the back button: the page stays the same, and its address says more. */
export function amendAddress(location: Location): void {
  history.replaceState(null, '', hrefOf(location));
  dispatchEvent(new Event(CHANGED));
}

/** The address of a location, for links. */
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
