import { captionOf, labelOf, makeDraft } from './draft';
import { makeScene } from './scene';
import { flowOfView, type ViewLink, type ViewNode, type ViewOptions } from './view';

const draftOfView = (nodes: ViewNode[], links: ViewLink[], options: ViewOptions = {}) =>
  makeDraft(flowOfView(nodes, links, options));
const sceneOf = (nodes: ViewNode[], links: ViewLink[], options: ViewOptions = {}) =>
  makeScene({ draft: draftOfView(nodes, links, options) });

const node = (id: string, kind: ViewNode['node']['kind'], name: string, more: Partial<ViewNode> = {}): ViewNode => ({
  node: { id, kind, name, containers: [] },
  members: 1,
  distance: 1,
  focus: false,
  upstream: true,
  downstream: false,
  wholly: true,
  ...more,
});

test('nodes stand from left to right as data flows', () => {
  const shown = [node('d:b', 'DATASET', '/out/b', { focus: true }), node('d:a', 'DATASET', '/raw/a')];
  const scene = sceneOf(shown, [{ src: 'd:a', dst: 'd:b', weight: 1, direct: false, via: 2 }]);
  expect(scene.cards.map((box) => [box.title, box.isFocus])).toEqual([
    ['a', false],
    ['b', true],
  ]);
  expect(scene.links).toMatchObject([{ id: 'd:a→d:b', src: 'd:a', dst: 'd:b', label: 'via 2', isHidden: true }]);
});

test('containers above and below one another can be drawn', () => {
  const shown = [node('p:x', 'PLATFORM', 'x', { members: 1200, wholly: false }), node('p:y', 'PLATFORM', 'y')];
  const both = [
    { src: 'p:x', dst: 'p:y', weight: 3, direct: true, via: 0 },
    { src: 'p:y', dst: 'p:x', weight: 1, direct: true, via: 0 },
  ];
  const scene = sceneOf(shown, both);
  expect(scene.links.map((link) => link.label)).toEqual(['3 flows', '']);
  expect(scene.cards.map((box) => [box.isMixed, box.caption])).toEqual([
    [true, 'platform · 1,200 inside'],
    [false, 'platform'],
  ]);
});

test('a link that was not counted says so, and one flow needs no number', () => {
  expect(labelOf({ weight: 9, via: null })).toBe('via many');
  expect(labelOf({ weight: 1, via: 0 })).toBe('');
  expect(captionOf('job', 1)).toBe('job');
});

test('a dataset that only failed runs were to write says so', () => {
  const dataset = node('dataset:file:/out/x', 'DATASET', '/out/x');
  const shown = [{ ...dataset, node: { ...dataset.node, unwritten: true } }];
  expect(sceneOf(shown, []).cards[0]?.caption).toBe('dataset, not written: its runs failed');
});

test('versions, files and runs are called by what they are of', () => {
  const run = '0198a1b2-0000-7000-8000-0000000abcde';
  const containers = [{ id: 'job:x', kind: 'JOB' as const, name: 'clean.execute_insert_into_x.weather' }];
  const inside = (id: string, kind: ViewNode['node']['kind'], name: string): ViewNode => ({
    ...node(id, kind, name),
    node: { id, kind, name, containers },
  });
  const shown = [
    node(`version:file:/out/clean/weather:${run}`, 'VERSION', run),
    node('partition:file%3A/out/clean/weather/part-0.parquet:10:9', 'PARTITION', 'part-0.parquet'),
    inside(`run:${run}`, 'RUN', run),
    inside('stage:c:4', 'STAGE', 'stage 4'),
    node('run:x', 'RUN', 'x'),
  ];
  const words = new Map(sceneOf(shown, []).cards.map((box) => [box.id, [box.title, box.caption]]));
  expect(shown.map(({ node: { id } }) => words.get(id))).toEqual([
    ['weather', 'version …0abcde'],
    ['part-0.parquet', 'file in weather'],
    ['clean', 'run …0abcde'],
    ['stage 4', 'stage of clean'],
    ['x', 'run'],
  ]);
});

test('columns stand in the box of their dataset, keys before values, and their links end at them', () => {
  const [raw, out] = ['column:f:/raw', 'column:f:/out'];
  const columns = [`${raw}:wind`, `${raw}:origin`, `${out}:origin`, `${out}:most`].map((id) =>
    node(id, 'COLUMN', id.split(':').at(-1) ?? '', { focus: id.startsWith(out) }),
  );
  const link = { weight: 1, direct: true, via: 0 };
  const links = [
    { ...link, src: `${raw}:wind`, dst: `${out}:most` },
    { ...link, src: `${raw}:origin`, dst: `${out}:origin` },
  ];
  const derivations = [
    {
      kind: 'DERIVES' as const,
      src: `${raw}:origin`,
      dst: `${out}:origin`,
      properties: {
        transformations: [
          { type: 'DIRECT', subtype: 'IDENTITY' },
          { type: 'INDIRECT', subtype: 'JOIN' },
        ],
      },
    },
  ];
  const scene = makeScene({ draft: draftOfView(columns, links), derivations });
  expect(
    scene.cards.map(({ title, caption, isFocus, lines }) => [title, caption, isFocus, lines.map((line) => line.text)]),
  ).toEqual([
    ['raw', 'dataset · 2 columns', false, ['origin', 'wind']],
    ['out', 'dataset · 2 columns', true, ['origin', 'most']],
  ]);
  expect(scene.links.map(({ src, srcCard, dstCard }) => [src, srcCard, dstCard])).toEqual([
    [`${raw}:wind`, 'dataset:f:/raw', 'dataset:f:/out'],
    [`${raw}:origin`, 'dataset:f:/raw', 'dataset:f:/out'],
  ]);
});

test('a dataset whose columns are drawn counts with them', () => {
  const columns = Array.from({ length: 40 }, (_, index) => node(`column:file:/a:c${index}`, 'COLUMN', `c${index}`));
  const shown = [node('dataset:file:/a', 'DATASET', '/a', { focus: true }), ...columns, node('job:x', 'JOB', 'x')];
  expect(flowOfView(shown, []).nodes.map(({ count = 1 }) => count)).toEqual([41, 1]);
});

const FILES = { id: 'platform:file', kind: 'PLATFORM' as const, name: 'file' };
const A = { id: 'dataset:file:/a', kind: 'DATASET' as const, name: '/a' };

test('the content of open containers is inside their boxes, also where boxes are in boxes', () => {
  const inside = node('version:file:/a:r1', 'VERSION', 'r1');
  const beside = node('dataset:file:/b', 'DATASET', '/b');
  const shown = [
    { ...inside, node: { ...inside.node, containers: [A, FILES] } },
    { ...beside, node: { ...beside.node, containers: [FILES] } },
    node('job:x', 'JOB', 'x'),
  ];
  const links = [{ src: inside.node.id, dst: 'job:x', weight: 1, direct: true, via: 0 }];
  const { cards } = sceneOf(shown, links, { open: [A.id, FILES.id] });
  const byId = new Map(cards.map((card) => [card.id, card]));
  expect(cards.map(({ id, isBox, parent }) => [id, isBox, parent])).toEqual(
    expect.arrayContaining([
      [FILES.id, true, undefined],
      [A.id, true, FILES.id],
      [inside.node.id, false, A.id],
      [beside.node.id, false, FILES.id],
    ]),
  );
  for (const { parent, x, y, width, height } of cards) {
    const box = byId.get(parent ?? '');
    if (!box) continue;
    expect([x - box.x, y - box.y].every((gap) => gap > 0)).toBe(true);
    expect(x + width).toBeLessThan(box.x + box.width);
    expect(y + height).toBeLessThan(box.y + box.height);
  }
});

test('a node at the limit of the depth is cut on the side away from the focus', () => {
  const shown = [
    node('dataset:f:far', 'DATASET', '/far', { distance: 12 }),
    node('dataset:f:near', 'DATASET', '/near', { distance: 2 }),
  ];
  const cuts = draftOfView(shown, [], { depth: 12 }).cards.map(({ cut }) => cut);
  expect(cuts).toEqual([{ before: true, after: false }, undefined]);
});
