import { makeScene } from './scene';
import { captionOf, draftOfView, labelOf, type ViewLink, type ViewNode } from './view';

const sceneOf = (nodes: ViewNode[], links: ViewLink[], max?: number) => {
  const draft = draftOfView(nodes, links, max);
  return { ...makeScene({ draft }), drawn: draft.nodes };
};

const node = (id: string, kind: ViewNode['node']['kind'], name: string, more: Partial<ViewNode> = {}): ViewNode => ({
  node: { id, kind, name, containers: [] },
  members: 1,
  focus: false,
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
  const containers = [{ kind: 'JOB' as const, name: 'clean.execute_insert_into_x.weather' }];
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

test('no more boxes are drawn than the most, and no link to what is not', () => {
  const shown = Array.from({ length: 5 }, (_, index) => node(`d:${index}`, 'DATASET', `/d${index}`));
  const links = [0, 1, 2, 3].map((index) => ({
    src: `d:${index}`,
    dst: `d:${index + 1}`,
    weight: 1,
    direct: true,
    via: 0,
  }));
  const scene = sceneOf(shown, links, 3);
  expect(scene.cards).toHaveLength(3);
  expect(scene.links).toHaveLength(2);
});

test('a dataset whose columns are drawn counts as drawn, and so do columns that had no room', () => {
  const columns = Array.from({ length: 40 }, (_, index) => node(`column:file:/a:c${index}`, 'COLUMN', `c${index}`));
  const shown = [node('dataset:file:/a', 'DATASET', '/a', { focus: true }), ...columns, node('job:x', 'JOB', 'x')];
  expect(sceneOf(shown, []).drawn).toBe(42);
  expect(sceneOf(shown, [], 1).drawn).toBe(41);
});
