import type { Placed } from './box';

/** Space around the drawing: above for the controls, below for the legend. */
export const MARGIN = { top: 50, bottom: 34, side: 16 } as const;

const [LOWEST, HIGHEST] = [150, 460];
export const SMALLEST_ZOOM = 0.05;
/** Smaller, a drawing is not shown whole, but around one of its boxes. */
const READABLE = 0.7;
const NEAR = 0.9;

interface Size {
  width: number;
  height: number;
}

/** Where a drawing stands in its canvas, as React Flow takes it. */
export interface Viewport {
  x: number;
  y: number;
  zoom: number;
}

/** How high the canvas must be to show a drawing of some size, over a given width: no higher than of use. */
export function canvasHeight(scene: Size, width: number): number {
  const drawn = scene.height * zoomAcross(scene, width);
  return Math.round(Math.max(LOWEST, Math.min(HIGHEST, drawn + MARGIN.top + MARGIN.bottom)));
}

/** Brings a drawing into its canvas: whole where it can be read so, never larger than life; else with a box in the middle. */
export function viewportOf(scene: Size, canvas: Size, centre?: Placed): Viewport {
  const room = { width: canvas.width - 2 * MARGIN.side, height: canvas.height - MARGIN.top - MARGIN.bottom };
  const whole = Math.min(1, ratio(room.width, scene.width), ratio(room.height, scene.height));
  const isWhole = whole >= READABLE || !centre;
  const zoom = isWhole ? Math.max(SMALLEST_ZOOM, whole) : NEAR;
  const at = isWhole ? { x: 0, y: 0, ...scene } : centre;
  return {
    x: MARGIN.side + place(room.width, scene.width * zoom, (at.x + at.width / 2) * zoom),
    y: MARGIN.top + place(room.height, scene.height * zoom, (at.y + at.height / 2) * zoom),
    zoom,
  };
}

/** Where a drawing begins within some room, so that a point of it comes as near to the middle as leaves no room empty. */
function place(room: number, drawn: number, point: number): number {
  if (drawn <= room) return (room - drawn) / 2;
  return Math.max(room - drawn, Math.min(0, room / 2 - point));
}

function zoomAcross(scene: Size, width: number): number {
  const zoom = Math.min(1, ratio(width - 2 * MARGIN.side, scene.width));
  return zoom >= READABLE ? zoom : NEAR;
}

function ratio(room: number, drawn: number): number {
  return drawn > 0 && room > 0 ? room / drawn : 1;
}
