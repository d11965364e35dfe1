import { ascending } from './coordinates';
import { layOut } from './layout';

const box = (id: string) => ({ id, width: 100, height: 40 });
const gaps = { rank: 50, box: 10 };

test('a box stands to the right of all that flows into it, and none on another', () => {
  const links = [
    { src: 'a', dst: 'b' },
    { src: 'b', dst: 'c' },
    { src: 'a', dst: 'c' },
    { src: 'x', dst: 'c' },
  ];
  const { boxes, width, height } = layOut(['a', 'b', 'c', 'x'].map(box), links, gaps);
  for (const { src, dst } of links) expect(boxes.get(src)?.x).toBeLessThan(boxes.get(dst)?.x ?? 0);
  expect(Math.abs((boxes.get('a')?.y ?? 0) - (boxes.get('x')?.y ?? 0))).toBeGreaterThanOrEqual(50);
  expect([width, height]).toEqual([400, 105]);
});

test('a chain behind a join is a straight line', () => {
  const chain = ['join', 'job', 'mart', 'export', 'board'];
  const links = [
    { src: 'a', dst: 'join' },
    { src: 'b', dst: 'join' },
    { src: 'c', dst: 'mart' },
    ...chain.slice(1).map((dst, index) => ({ src: chain[index] ?? '', dst })),
  ];
  const { boxes } = layOut(['a', 'b', 'c', ...chain].map(box), links, gaps);
  const heightOf = (id: string) => boxes.get(id)?.y;
  expect(heightOf('job')).toBeCloseTo(heightOf('join') ?? 0, 0);
  expect(heightOf('export')).toBe(heightOf('mart'));
  expect(heightOf('board')).toBe(heightOf('mart'));
});

test('circles are drawn too, and an empty graph has no size', () => {
  const circle = [
    { src: 'a', dst: 'b' },
    { src: 'b', dst: 'a' },
    { src: 'b', dst: 'b' },
  ];
  const { boxes } = layOut(['a', 'b'].map(box), circle, gaps);
  expect(boxes.get('a')?.x).toBeLessThan(boxes.get('b')?.x ?? 0);
  expect(layOut([], [], gaps)).toEqual({ boxes: new Map(), routes: new Map(), width: 0, height: 0 });
});

test('hundreds of links are laid out in a time that does not grow with their square', () => {
  const boxes = Array.from({ length: 500 }, (_, index) => box(`n${index}`));
  const links = boxes.flatMap((_, index) =>
    [1, 3, 7, 19].map((step) => ({ src: `n${index}`, dst: `n${Math.min(499, index + step)}` })),
  );
  const placed = layOut(boxes, links);
  expect(new Set([...placed.boxes.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(500);
});

test('numbers are put in ascending order as near to their wishes as possible', () => {
  expect(ascending([1, 5, 3, 9])).toEqual([1, 4, 4, 9]);
  expect(ascending([3, 2, 1])).toEqual([2, 2, 2]);
  expect(ascending([3, 2], [1, 0.25])).toEqual([2.8, 2.8]);
  expect(ascending([])).toEqual([]);
});

test('a thousand boxes stay apart, and each is near to its neighbours', () => {
  const boxes = Array.from({ length: 1000 }, (_, index) => box(`n${String(index).padStart(4, '0')}`));
  const links = boxes.slice(1).map(({ id }, index) => ({ src: boxes[Math.floor(index / 3)]?.id ?? '', dst: id }));
  const { boxes: placed } = layOut(boxes, links, gaps);
  const columns = Map.groupBy(placed.values(), ({ x }) => x);
  for (const column of columns.values()) {
    const sorted = column.toSorted((a, b) => a.y - b.y);
    for (const [index, { y }] of sorted.slice(1).entries())
      expect(y - (sorted[index]?.y ?? 0)).toBeGreaterThanOrEqual(49.9);
  }
});
