import { makeDraft } from './draft';
import { makeFlow } from './flow';
import { columnId } from './ids';
import { highlightOf } from './path';
import { HEAD_HEIGHT, isColumnLink, LINE_HEIGHT, type Line, makeScene, type SceneInput } from './scene';
import type { LineageGraph } from './types';
import { canvasHeight } from './viewport';

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
  Array.from({ length: 25 }, (_, index) => ({ key: columnId(dataset, `c${index}`), text: `c${index}` }));
const lines = new Map([RAW, TIDY, OTHER, 'job:j'].map((id) => [id, columns(id)]));

function scene(input: Partial<SceneInput> = {}) {
  return makeScene({
    draft: makeDraft(makeFlow(graph)),
    derivations: graph.edges,
    lines,
    tracedColumns,
    ...input,
  });
}

test('data flows from left to right, and nodes come in the order of reading', () => {
  const { cards: nodes } = scene();
  const x = new Map(nodes.map((node) => [node.id, node.x]));
  expect(x.get(RAW)).toBeLessThan(x.get('job:j') ?? 0);
  expect(x.get('job:j')).toBeLessThan(x.get(TIDY) ?? 0);
  expect(nodes.map((node) => node.x)).toEqual(nodes.map((node) => node.x).sort((a, b) => a - b));
});

test('no two nodes overlap, open or closed', () => {
  const { cards: nodes } = scene({ open: new Set([RAW, TIDY, OTHER, 'job:j']) });
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
    scene({ draft: makeDraft(makeFlow(input)), open: new Set([RAW]) }).cards.map((card) => [card.id, card.x, card.y]);
  expect(places(turned)).toEqual(places(graph));
});

test('a closed node shows nothing, an open one as much as there is room for', () => {
  const [closed, open] = [scene(), scene({ open: new Set([RAW]) })].map(({ cards: nodes }) =>
    nodes.find((node) => node.id === RAW),
  );
  expect(closed).toMatchObject({ height: HEAD_HEIGHT, lines: [], rest: 0 });
  expect(open?.lines.length).toBe(14);
  expect(open?.rest).toBe(11);
  expect(open?.height).toBeGreaterThan(HEAD_HEIGHT + 14 * LINE_HEIGHT);
});

test('a traced column is never the one left out', () => {
  const raw = scene({ open: new Set([RAW]) }).cards.find((node) => node.id === RAW);
  expect(raw?.lines.find((line) => line.isTraced)?.text).toBe('c20');
});

test('columns are joined where both are in sight', () => {
  const joined = scene({ open: new Set([RAW, TIDY]) }).links.filter(isColumnLink);
  expect(joined).toEqual([
    expect.objectContaining({ src: columnId(RAW, 'c20'), dst: columnId(TIDY, 'c20'), state: 'traced' }),
  ]);
  expect(scene({ open: new Set([RAW]) }).links.some(isColumnLink)).toBe(false);
});

test('what the trace did not touch is dimmed; without a trace nothing is', () => {
  const highlight = highlightOf([
    { job: 'job:j', run: 'r', output: TIDY, inputs: [RAW], operations: [], records: 1, grain: 'VERSION' },
  ]);
  const withPath = scene({ draft: makeDraft(makeFlow(graph), { highlight }) });
  const states = Object.fromEntries(withPath.cards.map((node) => [node.id, node.state]));
  expect(states).toEqual({ [RAW]: 'traced', [OTHER]: 'dim', 'job:j': 'traced', [TIDY]: 'traced' });
  expect(withPath.cards.find((node) => node.id === 'job:j')?.isCoarse).toBe(true);
  expect(new Set(scene().cards.map((node) => node.state))).toEqual(new Set(['plain']));
});

test('nothing at all can be drawn', () => {
  expect(scene({ draft: { cards: [], links: [] } })).toMatchObject({ cards: [], width: 0, height: 0 });
});

test('a canvas is as high as its drawing needs, within bounds', () => {
  expect(canvasHeight({ width: 1400, height: 50 }, 1230)).toBe(150);
  expect(canvasHeight({ width: 1400, height: 322 }, 1230)).toBeGreaterThan(300);
  expect(canvasHeight({ width: 1400, height: 5000 }, 1230)).toBe(520);
});
