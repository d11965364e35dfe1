import type { PlacedBox } from './boxes';

/** Space around the drawing, for the controls at the top and the legend at the bottom. */
export const MARGIN = { top: 50, bottom: 34, side: 16 } as const;
export const MIN_ZOOM = 0.05;
const [MIN_HEIGHT, MAX_HEIGHT] = [150, 520];
/** Below this zoom, the canvas shows the surroundings of one card instead of the full drawing. */
export const READABLE_ZOOM = 0.7;
/** At full size, each button is large enough for a finger. */
const NEAR_ZOOM = 1;

interface Size {
  width: number;
  height: number;
}

/** The part of a drawing that the canvas shows, in the terms of React Flow. */
export interface Viewport {
  x: number;
  y: number;
  zoom: number;
}

/** The height of a canvas that shows a drawing at a given width. */
export function canvasHeight(scene: Size, width: number): number {
  const full = zoomFor(width - 2 * MARGIN.side, scene.width);
  const height = scene.height * (full >= READABLE_ZOOM ? full : NEAR_ZOOM);
  return Math.round(Math.max(MIN_HEIGHT, Math.min(MAX_HEIGHT, height + MARGIN.top + MARGIN.bottom)));
}

/** Show the full drawing if it stays readable, otherwise the surroundings of `centre`. */
export function fitViewport(scene: Size, canvas: Size, centre?: PlacedBox): Viewport {
  const inner = { width: canvas.width - 2 * MARGIN.side, height: canvas.height - MARGIN.top - MARGIN.bottom };
  const full = Math.min(zoomFor(inner.width, scene.width), zoomFor(inner.height, scene.height));
  const isFull = full >= READABLE_ZOOM || !centre;
  const zoom = isFull ? Math.max(MIN_ZOOM, full) : NEAR_ZOOM;
  const target = isFull ? { x: 0, y: 0, ...scene } : centre;
  return {
    x: MARGIN.side + offset(inner.width, scene.width * zoom, (target.x + target.width / 2) * zoom),
    y: MARGIN.top + offset(inner.height, scene.height * zoom, (target.y + target.height / 2) * zoom),
    zoom,
  };
}

/** Whether the full drawing is readable in the canvas. */
export function isReadable(scene: Size, canvas: Size): boolean {
  const inner = { width: canvas.width - 2 * MARGIN.side, height: canvas.height - MARGIN.top - MARGIN.bottom };
  return Math.min(zoomFor(inner.width, scene.width), zoomFor(inner.height, scene.height)) >= READABLE_ZOOM;
}

/** Move the window so that a box stays at its place in the window, although its place in the drawing changes. */
export function keepPlace({ x, y, zoom }: Viewport, before: PlacedBox, after: PlacedBox): Viewport {
  return { x: x + (before.x - after.x) * zoom, y: y + (before.y - after.y) * zoom, zoom };
}

/** Move the window as little as possible until a box is in it. The upper left corner of a large box wins. */
export function keepInSight({ x, y, zoom }: Viewport, box: PlacedBox, canvas: Size): Viewport {
  const shift = (start: number, length: number, low: number, high: number) =>
    Math.max(low - start, Math.min(0, high - (start + length)));
  const across = shift(x + box.x * zoom, box.width * zoom, MARGIN.side, canvas.width - MARGIN.side);
  const down = shift(y + box.y * zoom, box.height * zoom, MARGIN.top, canvas.height - MARGIN.bottom);
  return { x: x + across, y: y + down, zoom };
}

/** Move the window as little as possible until it shows no empty space beside a part of the drawing that is cut off. */
export function withoutGaps({ x, y, zoom }: Viewport, scene: Size, canvas: Size): Viewport {
  const clamp = (start: number, rest: number) => Math.max(Math.min(0, rest), Math.min(Math.max(0, rest), start));
  const across = canvas.width - 2 * MARGIN.side - scene.width * zoom;
  const down = canvas.height - MARGIN.top - MARGIN.bottom - scene.height * zoom;
  return { x: MARGIN.side + clamp(x - MARGIN.side, across), y: MARGIN.top + clamp(y - MARGIN.top, down), zoom };
}

/** Bring a point as close to the middle as possible without empty space at the edges. */
function offset(canvas: number, drawing: number, point: number): number {
  if (drawing <= canvas) return (canvas - drawing) / 2;
  return Math.max(canvas - drawing, Math.min(0, canvas / 2 - point));
}

function zoomFor(canvas: number, drawing: number): number {
  return drawing > 0 && canvas > 0 ? Math.min(1, canvas / drawing) : 1;
}
