/**
 * The layout of boxes inside boxes. Every box is placed at its closed size first, so the places do not depend on what is open. Each open
 * box then makes room: what is below it moves down, what is to the right of it moves to the right, and everything else stays.
 */
import { type Box, type Ends, type Layout, linkKey, type PlacedBox, type Point } from './boxes';
import { layOut } from './layout';

export interface NestedBox extends Box {
  /** Id of the box around it. */
  parent?: string | undefined;
  /** The size of the box while it is closed. */
  closed: { width: number; height: number };
}

/** Space between a box and its content. */
export const INSET = { top: 44, side: 18, bottom: 18 } as const;

/** Place all boxes, with absolute coordinates. The size of a box with content follows from the content. */
export function placeNested(boxes: readonly NestedBox[], links: readonly Ends[]): Layout {
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const levels = Map.groupBy(boxes, ({ parent }) => (parent !== undefined && byId.has(parent) ? parent : undefined));
  const parentOf = (id: string) => {
    const parent = byId.get(id)?.parent;
    return parent !== undefined && byId.has(parent) ? parent : undefined;
  };
  const ends = Map.groupBy(
    links.flatMap((link) => liftLink(link, parentOf)),
    ({ level }) => level,
  );
  const place = (level: string | undefined): Layout => {
    const own = levels.get(level) ?? [];
    const inner = new Map(own.filter(({ id }) => levels.has(id)).map(({ id }) => [id, place(id)] as const));
    const grown = own.map((box) => {
      const content = inner.get(box.id);
      return content ? { ...box, ...sizeAround(content, box) } : box;
    });
    const direct = ends.get(level) ?? [];
    const around = direct.length > 0 || level === undefined ? [] : linksAround(own, links);
    const unique = new Map([...direct, ...around].map((link) => [linkKey(link), link]));
    const base = layOut(
      own.map(({ id, closed }) => ({ id, ...closed })),
      [...unique.values()],
    );
    const layout = makeRoom(base, grown);
    for (const [id, content] of inner) addContent(layout, id, content);
    return layout;
  };
  return place(undefined);
}

/** Data can leave a box and return to it. The content of the box is then placed in the order of the data, as if the links were direct. */
function linksAround(own: readonly Box[], links: readonly Ends[]): Ends[] {
  const ids = new Set(own.map(({ id }) => id));
  const targets = Map.groupBy(
    links.filter(({ src, dst }) => !ids.has(src) && ids.has(dst)),
    ({ src }) => src,
  );
  return links
    .filter(({ src, dst }) => ids.has(src) && !ids.has(dst))
    .flatMap(({ src, dst }) => (targets.get(dst) ?? []).map((link) => ({ src, dst: link.dst })))
    .filter(({ src, dst }) => src !== dst);
}

function sizeAround({ width, height }: Layout, box: Box): { width: number; height: number } {
  return {
    width: Math.max(box.width, width + 2 * INSET.side),
    height: Math.max(box.height, height + INSET.top + INSET.bottom),
  };
}

/** The two boxes of one level that a link joins. A link between a box and its own content joins nothing. */
function liftLink(
  { src, dst }: Ends,
  parentOf: (id: string) => string | undefined,
): (Ends & { level: string | undefined })[] {
  const chain = (id: string) => {
    const ids = [id];
    for (let parent = parentOf(id); parent !== undefined; parent = parentOf(parent)) ids.push(parent);
    return ids.reverse();
  };
  const [from, to] = [chain(src), chain(dst)];
  const split = from.findIndex((id, index) => id !== to[index]);
  const [start, end] = [from[split], to[split]];
  return start === undefined || end === undefined ? [] : [{ src: start, dst: end, level: from[split - 1] }];
}

/** Give open boxes their size. Columns stay apart, and so do the boxes of a column. */
function makeRoom(base: Layout, boxes: readonly Box[]): Layout {
  const layout: Layout = { ...base, boxes: new Map(base.boxes), routes: new Map(base.routes) };
  for (const { id, width, height } of boxes.toSorted(fromTopLeft(base))) {
    const box = layout.boxes.get(id);
    // Most boxes are closed. To look at all boxes for each of a thousand takes seconds.
    if (!box || (width <= box.width && height <= box.height)) continue;
    const room = roomOf(layout, box, width, height);
    grow(layout, id, { width, height }, room);
  }
  const all = [...layout.boxes.values()];
  layout.width = Math.max(base.width, ...all.map((box) => box.x + box.width));
  layout.height = Math.max(base.height, ...all.map((box) => box.y + box.height));
  return layout;
}

/** Give a box its size, and move the other boxes and the routes. */
function grow(layout: Layout, id: string, size: { width: number; height: number }, room: Room): void {
  for (const [other, place] of layout.boxes)
    layout.boxes.set(other, other === id ? { ...place, ...size } : { ...place, ...movePoint(place, room) });
  if (room.wider > 0 || room.higher > 0)
    for (const [key, route] of layout.routes) layout.routes.set(key, moveRoute(route, room));
}

/** Compare boxes by their place: from left to right, and from the top down. */
function fromTopLeft(base: Layout): (a: Box, b: Box) => number {
  const place = (box: Box): Point => base.boxes.get(box.id) ?? { x: 0, y: 0 };
  return (a, b) => place(a).x - place(b).x || place(a).y - place(b).y;
}

/** The room that a box needs when it grows to a size. */
function roomOf(layout: Layout, box: PlacedBox, width: number, height: number): Room {
  const column = [...layout.boxes.values()].filter((other) => overlaps(other, box));
  const right = Math.max(...column.map((other) => other.x + other.width));
  return {
    left: Math.min(...column.map((other) => other.x)),
    right,
    bottom: box.y + box.height,
    wider: Math.max(0, box.x + width - right),
    higher: Math.max(0, height - box.height),
  };
}

interface Room {
  /** The sides of the column of the open box, and the lower side of the closed box. */
  left: number;
  right: number;
  bottom: number;
  wider: number;
  higher: number;
}

function overlaps(one: PlacedBox, other: PlacedBox): boolean {
  return one.x < other.x + other.width && one.x + one.width > other.x;
}

function movePoint({ x, y }: Point, { left, right, bottom, wider, higher }: Room): Point {
  if (x >= right) return { x: x + wider, y };
  return { x, y: x >= left && y >= bottom ? y + higher : y };
}

/** Points come in pairs: the left and the right side of a column. */
function moveRoute(route: readonly Point[], room: Room): Point[] {
  return route.map((point, index) => {
    const start = index % 2 === 1 ? (route[index - 1] ?? point) : point;
    if (start.x >= room.right) return movePoint(point, room);
    const { y } = movePoint({ x: start.x, y: point.y }, room);
    return { x: index % 2 === 1 && start.x >= room.left ? point.x + room.wider : point.x, y };
  });
}

function addContent(layout: Layout, id: string, content: Layout): void {
  const box = layout.boxes.get(id);
  if (!box) return;
  const [x, y] = [box.x + INSET.side, box.y + INSET.top];
  for (const [inner, place] of content.boxes) layout.boxes.set(inner, { ...place, x: place.x + x, y: place.y + y });
  for (const [key, route] of content.routes)
    layout.routes.set(
      key,
      route.map((point) => ({ x: point.x + x, y: point.y + y })),
    );
}
