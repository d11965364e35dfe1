import { flowOf } from './flow';
import { columnId } from './ids';
import { highlightOf } from './path';
import { HEAD_HEIGHT, LINE_HEIGHT, type Line, type SceneInput, sceneOf, toggled } from './scene';
import type { LineageGraph } from './types';
import { canvasHeight } from './view';

const [RAW, TIDY, OTHER] = ['dataset:f:raw', 'dataset:f:tidy', 'dataset:f:other'];

const graph: LineageGraph = {
  nodes: [
    { id: TIDY, kind: 'DATASET', name: '/tidy', properties: {} },
    { id: 'job:j', kind: 'JOB', name: 'j', properties: {} },
    { id: RAW, kind: 'DATASET', name: '/raw', properties: {} },
    { id: OTHER, kind: 'DATASET', name: '/other', properties: {} },
  ],
  edges: [
    { src: RAW, dst: 'job:j', kind: 'READS' },
    { src: OTHER, dst: 'job:j', kind: 'READS' },
    { src: 'job:j', dst: TIDY, kind: 'WRITES' },
    { src: columnId(RAW, 'c20'), dst: columnId(TIDY, 'c20'), kind: 'DERIVES' },
    { src: columnId(RAW, 'c21'), dst: columnId(TIDY, 'c21'), kind: 'DERIVES' },
  ],
  truncated: 0,
};

const tracedColumns = new Set([columnId(RAW, 'c20'), columnId(TIDY, 'c20')]);
const columns = (dataset: string): Line[] =>
  Array.from({ length: 25 }, (_, index) => ({
    key: `c${index}`,
    text: `c${index}`,
    traced: tracedColumns.has(columnId(dataset, `c${index}`)),
  }));

function scene(input: Partial<SceneInput> = {}) {
  return sceneOf({
    flow: flowOf(graph),
    graph,
    open: new Set(),
    linesOf: (node) => columns(node.id),
    tracedColumns,
    ...input,
  });
}

test('data flows from left to right, and nodes come in the order of reading', () => {
  const { nodes } = scene();
  const x = new Map(nodes.map((node) => [node.id, node.x]));
  expect(x.get(RAW)).toBeLessThan(x.get('job:j') ?? 0);
  expect(x.get('job:j')).toBeLessThan(x.get(TIDY) ?? 0);
  expect(nodes.map((node) => node.x)).toEqual(nodes.map((node) => node.x).sort((a, b) => a - b));
});

test('no two nodes overlap, open or closed', () => {
  const { nodes } = scene({ open: new Set([RAW, TIDY, OTHER, 'job:j']) });
  for (const [index, a] of nodes.entries()) {
    for (const b of nodes.slice(index + 1)) {
      const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
      expect(apart, `${a.id} and ${b.id}`).toBe(true);
    }
  }
});

test('the same input gives the same picture, whatever the order of nodes', () => {
  const turned = { ...graph, nodes: [...graph.nodes].reverse(), edges: [...graph.edges].reverse() };
  const places = (input: LineageGraph) =>
    sceneOf({ flow: flowOf(input), graph: input, open: new Set([RAW]), linesOf: () => [], tracedColumns }).nodes.map(
      (node) => [node.id, node.x, node.y],
    );
  expect(places(turned)).toEqual(places(graph));
});

test('a closed node shows nothing, an open one as much as there is room for', () => {
  const [closed, open] = [scene(), scene({ open: new Set([RAW]) })].map(({ nodes }) =>
    nodes.find((node) => node.id === RAW),
  );
  expect(closed).toMatchObject({ height: HEAD_HEIGHT, lines: [], more: 0 });
  expect(open?.lines.length).toBe(14);
  expect(open?.more).toBe(11);
  expect(open?.height).toBeGreaterThan(HEAD_HEIGHT + 14 * LINE_HEIGHT);
});

test('a traced column is never the one left out', () => {
  const raw = scene({ open: new Set([RAW]) }).nodes.find((node) => node.id === RAW);
  expect(raw?.lines.find((line) => line.traced)?.text).toBe('c20');
});

test('columns are joined where both are in sight', () => {
  const joined = scene({ open: new Set([RAW, TIDY]) }).links.filter((link) => link.srcColumn);
  expect(joined).toEqual([
    expect.objectContaining({ srcColumn: columnId(RAW, 'c20'), dstColumn: columnId(TIDY, 'c20'), state: 'traced' }),
  ]);
  expect(scene({ open: new Set([RAW]) }).links.some((link) => link.srcColumn)).toBe(false);
});

test('what the trace did not touch is dimmed; without a trace nothing is', () => {
  const highlight = highlightOf([
    { job: 'job:j', run: 'r', output: TIDY, inputs: [RAW], operations: [], records: 1, grain: 'VERSION' },
  ]);
  const states = Object.fromEntries(scene({ highlight }).nodes.map((node) => [node.id, node.state]));
  expect(states).toEqual({ [RAW]: 'traced', [OTHER]: 'dim', 'job:j': 'traced', [TIDY]: 'traced' });
  expect(scene({ highlight }).nodes.find((node) => node.id === 'job:j')?.coarse).toBe(true);
  expect(new Set(scene().nodes.map((node) => node.state))).toEqual(new Set(['plain']));
});

test('opening is undone by closing', () => {
  const open = toggled(new Set(['a']), 'b');
  expect(toggled(open, 'b')).toEqual(new Set(['a']));
  expect(open).toEqual(new Set(['a', 'b']));
});

test('nothing at all can be drawn', () => {
  expect(
    sceneOf({ flow: { nodes: [], links: [] }, graph, open: new Set(), linesOf: () => [], tracedColumns }),
  ).toMatchObject({ nodes: [], width: 0, height: 0 });
});

test('a canvas is as high as its drawing needs, within bounds', () => {
  expect(canvasHeight({ width: 1400, height: 50 }, 1230)).toBe(150);
  expect(canvasHeight({ width: 1400, height: 322 }, 1230)).toBeGreaterThan(300);
  expect(canvasHeight({ width: 1400, height: 5000 }, 1230)).toBe(460);
});
