import '@testing-library/jest-dom/vitest';
import { cleanup, configure } from '@testing-library/react';
import { afterEach, vi } from 'vitest';

// Only a wait that never ends comes to this limit. On a busy machine, one test can take a minute.
configure({ asyncUtilTimeout: 120_000 });

afterEach(async () => {
  cleanup();
  // A part of the page that still loads when the last test of a file ends would be an error of the run, without a test.
  await vi.dynamicImportSettled();
  history.replaceState(null, '', '/');
});

// jsdom lays nothing out: give elements a size, so that what is virtual or drawn has room.
class Observer implements ResizeObserver {
  readonly #changed: ResizeObserverCallback;

  constructor(changed: ResizeObserverCallback) {
    this.#changed = changed;
  }

  observe(target: Element): void {
    const contentRect = { width: 1200, height: 600 } as DOMRectReadOnly;
    const size = [{ inlineSize: 1200, blockSize: 600 }];
    const entry = { target, contentRect, borderBoxSize: size, contentBoxSize: size, devicePixelContentBoxSize: size };
    this.#changed([entry], this);
  }

  unobserve(): void {}

  disconnect(): void {}
}
globalThis.ResizeObserver = Observer;
globalThis.DOMMatrixReadOnly = class {
  readonly m22 = 1;
} as unknown as typeof DOMMatrixReadOnly;
Object.defineProperties(HTMLElement.prototype, {
  offsetWidth: { get: () => 1200 },
  offsetHeight: { get: () => 600 },
  clientWidth: { get: () => 1200 },
  clientHeight: { get: () => 600 },
});
Object.assign(SVGElement.prototype, { getBBox: () => ({ x: 0, y: 0, width: 0, height: 0 }) });
