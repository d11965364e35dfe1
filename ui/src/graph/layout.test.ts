import { layOut, layOutInColumns } from './layout';

const box = (id: string) => ({ id, width: 100, height: 40 });
const gaps = { rank: 50, box: 10 };

test('a box stands to the right of all that flows into it, and none on another', () => {
  const links = [
    { src: 'a', dst: 'b' },
    { src: 'b', dst: 'c' },
    { src: 'a', dst: 'c' },
    { src: 'x', dst: 'c' },
  ];
  const { boxes, width, height } = layOutInColumns(['a', 'b', 'c', 'x'].map(box), links, gaps);
  for (const { src, dst } of links) expect(boxes.get(src)?.x).toBeLessThan(boxes.get(dst)?.x ?? 0);
  expect(Math.abs((boxes.get('a')?.y ?? 0) - (boxes.get('x')?.y ?? 0))).toBeGreaterThanOrEqual(50);
  expect([width, height]).toEqual([400, 90]);
});

test('circles are drawn too, and an empty graph has no size', () => {
  const circle = [
    { src: 'a', dst: 'b' },
    { src: 'b', dst: 'a' },
    { src: 'b', dst: 'b' },
  ];
  const { boxes } = layOutInColumns(['a', 'b'].map(box), circle, gaps);
  expect(boxes.get('a')?.x).toBeLessThan(boxes.get('b')?.x ?? 0);
  expect(layOutInColumns([], [], gaps)).toEqual({ boxes: new Map(), width: 0, height: 0 });
});

test('hundreds of links are laid out in a time that does not grow with their square', () => {
  const boxes = Array.from({ length: 500 }, (_, index) => box(`n${index}`));
  const links = boxes.flatMap((_, index) =>
    [1, 3, 7, 19].map((step) => ({ src: `n${index}`, dst: `n${Math.min(499, index + step)}` })),
  );
  const placed = layOut(boxes, links);
  expect(placed).toEqual(layOutInColumns(boxes, links, { rank: 44, box: 18 })); // not dagre's, which takes seconds for these
  expect(new Set([...placed.boxes.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(500);
});
