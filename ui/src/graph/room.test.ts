import { placeNested } from './room';

const closed = { width: 100, height: 40 };
const box = (id: string, parent?: string) => ({ id, ...closed, closed, parent });
const links = [
  { src: 'a', dst: 'b' },
  { src: 'b', dst: 'c' },
  { src: 'b', dst: 'd' },
];
const closedBoxes = ['a', 'b', 'c', 'd'].map((id) => box(id));

test('a box that opens moves nothing to its left, and nothing above it', () => {
  const before = placeNested(closedBoxes, links).boxes;
  const inside = ['x', 'y', 'z'].map((id) => box(id, 'b'));
  const after = placeNested(
    [...closedBoxes, ...inside],
    [...links, { src: 'a', dst: 'x' }, { src: 'x', dst: 'y' }, { src: 'x', dst: 'z' }],
  ).boxes;
  const place = (boxes: typeof before, id: string) => [boxes.get(id)?.x, boxes.get(id)?.y];
  expect(place(after, 'a')).toEqual(place(before, 'a'));
  expect(place(after, 'b')).toEqual(place(before, 'b'));
  const wider = (after.get('b')?.width ?? 0) - closed.width;
  expect(wider).toBeGreaterThan(100);
  for (const id of ['c', 'd']) {
    expect((after.get(id)?.x ?? 0) - (before.get(id)?.x ?? 0)).toBe(wider);
    expect(after.get(id)?.y).toBe(before.get(id)?.y);
  }
});

test('boxes below move down, and all boxes stay apart', () => {
  const boxes = [box('a'), ...['b', 'c', 'd', 'e'].map((id) => box(id))];
  const star = ['b', 'c', 'd', 'e'].map((dst) => ({ src: 'a', dst }));
  const inside = (parent: string) => ['1', '2', '3'].map((id) => box(`${parent}${id}`, parent));
  const { boxes: placed } = placeNested([...boxes, ...inside('c'), ...inside('d')], star);
  const outer = boxes.flatMap(({ id }) => placed.get(id) ?? []);
  for (const [index, a] of outer.entries()) {
    for (const b of outer.slice(index + 1)) {
      const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
      expect(apart, `${a.id} and ${b.id}`).toBe(true);
    }
  }
});

test('a long link passes outside of the cards between its ends', () => {
  const chain = ['a', 'b', 'c', 'd'];
  const all = [...links.slice(0, 2), { src: 'c', dst: 'd' }, { src: 'a', dst: 'd' }];
  const { boxes, routes } = placeNested(
    chain.map((id) => box(id)),
    all,
  );
  const route = routes.get('a d') ?? [];
  expect(route.length).toBeGreaterThan(0);
  for (const { x, y } of route)
    for (const { x: left, y: top, width, height } of boxes.values())
      expect(x >= left && x <= left + width && y > top && y < top + height).toBe(false);
});

test('the content of a box can be linked to the box around it', () => {
  const nested = [box('p'), box('q', 'p'), box('r')];
  const { boxes } = placeNested(nested, [
    { src: 'p', dst: 'q' },
    { src: 'q', dst: 'r' },
  ]);
  expect(boxes.get('r')?.x).toBeGreaterThan((boxes.get('p')?.x ?? 0) + (boxes.get('p')?.width ?? 0));
});
