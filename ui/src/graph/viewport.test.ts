import { canvasHeight, fitViewport, MARGIN, withoutGaps } from './viewport';

const canvas = { width: 1000, height: 400 };
const box = (x: number, y: number) => ({ id: 'b', x, y, width: 180, height: 50 });

/** The middle of a box on the canvas. */
function seen({ x, y, width, height }: ReturnType<typeof box>, viewport: ReturnType<typeof fitViewport>) {
  return { x: viewport.x + (x + width / 2) * viewport.zoom, y: viewport.y + (y + height / 2) * viewport.zoom };
}

test('a drawing with room stands whole in the middle, no larger than life', () => {
  const viewport = fitViewport({ width: 400, height: 100 }, canvas, box(0, 0));
  expect(viewport.zoom).toBe(1);
  expect(viewport.x).toBe(300);
});

test('one that would be too small to read stands with its focus in the middle', () => {
  const focus = box(3000, 2000);
  const viewport = fitViewport({ width: 9000, height: 6000 }, canvas, focus);
  expect(viewport.zoom).toBeGreaterThan(0.7);
  expect(seen(focus, viewport).x).toBeCloseTo(canvas.width / 2);
  expect(seen(focus, viewport).y).toBeCloseTo((canvas.height + MARGIN.top - MARGIN.bottom) / 2);
});

test('a focus at the edge is in sight, and no room beyond the edge is shown', () => {
  const focus = box(8820, 0);
  const viewport = fitViewport({ width: 9000, height: 6000 }, canvas, focus);
  expect(seen(focus, viewport).x).toBeLessThan(canvas.width);
  expect(viewport.x + 9000 * viewport.zoom).toBeCloseTo(canvas.width - MARGIN.side);
  expect(viewport.y).toBe(MARGIN.top);
});

test('without a focus the whole is shown, however small', () => {
  expect(fitViewport({ width: 9680, height: 600 }, canvas).zoom).toBeCloseTo(0.1);
});

test('the canvas is as high as its drawing, within bounds', () => {
  expect(canvasHeight({ width: 500, height: 200 }, 1000)).toBe(284);
  expect(canvasHeight({ width: 500, height: 5000 }, 1000)).toBe(520);
  expect(canvasHeight({ width: 0, height: 0 }, 0)).toBe(150);
});

test('a larger window shows more of a drawing that is cut off, and no empty space beside it', () => {
  const scene = { width: 1500, height: 100 };
  const atTheEnd = { x: 400 - MARGIN.side - 1500, y: 60, zoom: 1 };
  const { x, y } = withoutGaps(atTheEnd, scene, canvas);
  expect(x).toBe(canvas.width - MARGIN.side - 1500);
  expect(y).toBe(60); // the drawing is lower than the window, so it stays in its place
  expect(withoutGaps({ x: -700, y: 60, zoom: 0.5 }, scene, canvas).x).toBe(MARGIN.side);
  expect(withoutGaps({ x: -300, y: 60, zoom: 1 }, scene, canvas).x).toBe(-300);
});
