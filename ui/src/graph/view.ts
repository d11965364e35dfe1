/** Space around the drawing: above for the controls, below for the legend. */
export const MARGIN = { top: 50, bottom: 34, side: 16 } as const;

const [LOWEST, HIGHEST] = [150, 460];
const SMALLEST_ZOOM = 0.35;

/** The zoom at which a drawing fits a canvas of some width. */
export function fittingZoom(scene: { width: number }, width: number): number {
  const room = width - 2 * MARGIN.side;
  return scene.width > 0 && room > 0 ? Math.min(1, Math.max(SMALLEST_ZOOM, room / scene.width)) : 1;
}

/** How high the canvas must be to show a drawing of some size whole, over a given width: no higher than of use. */
export function canvasHeight(scene: { width: number; height: number }, width: number): number {
  const drawn = scene.height * fittingZoom(scene, width);
  return Math.round(Math.max(LOWEST, Math.min(HIGHEST, drawn + MARGIN.top + MARGIN.bottom)));
}
