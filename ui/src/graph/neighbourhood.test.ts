import type { Flow } from './flow';
import { countNeighbours, FIRST_CARDS, MAX_CARDS, selectNeighbourhood } from './neighbourhood';

/** Datasets `d…` and jobs `j…`, from links written as `d0>j1`. */
function flowOf(...links: string[]): Flow {
  const ends = links.map((link) => link.split('>') as [string, string]);
  const ids = [...new Set(ends.flat())];
  return {
    nodes: ids.map((id) => ({ id, kind: id.startsWith('d') ? 'DATASET' : 'JOB', name: id, properties: {} })),
    links: ends.map(([src, dst]) => ({ id: `${src}→${dst}`, src, dst })),
  };
}

/** A dataset `d` with a number of readers. Each reader writes one dataset. */
const hub = (readers: number) =>
  flowOf(
    'd-source>j',
    'j>d',
    ...Array.from({ length: readers }, (_, index) => [`d>j${index}`, `j${index}>d${index}`]).flat(),
  );
/** A chain of datasets and jobs, `d0` first. */
const chain = (length: number) =>
  flowOf(...Array.from({ length }, (_, index) => [`d${index}>j${index}`, `j${index}>d${index + 1}`]).flat());

test('a small lineage is drawn whole', () => {
  expect(selectNeighbourhood(chain(5), ['d0']).size).toBe(11);
  expect(selectNeighbourhood(chain(5), ['d3']).size).toBe(11);
});

test('a large one stops at a whole hop', () => {
  const shown = selectNeighbourhood(chain(60), ['d30']);
  expect(shown.size).toBeLessThanOrEqual(FIRST_CARDS);
  const datasets = [...shown].filter((id) => id.startsWith('d')).map((id) => Number(id.slice(1)));
  expect(30 - Math.min(...datasets)).toBe(Math.max(...datasets) - 30);
});

test('siblings that only share a source are not drawn at first', () => {
  const shown = selectNeighbourhood(flowOf('d0>j1', 'j1>d1', 'd0>j2', 'j2>d2'), ['d1']);
  expect([...shown].sort()).toEqual(['d0', 'd1', 'j1']);
});

test('the first ring of a hub is cut, both sides have their part, and jobs come with their datasets', () => {
  const shown = selectNeighbourhood(hub(500), ['d']);
  expect(shown.size).toBe(FIRST_CARDS);
  expect(shown.has('d-source')).toBe(true);
  expect([...shown].filter((id) => /^j\d/.test(id)).length).toBe([...shown].filter((id) => /^d\d/.test(id)).length + 1);
});

test('growth goes on where the drawing was cut, and never beyond the most boxes', () => {
  const flow = hub(500);
  const clicks = Array.from({ length: 20 }, () => ({ id: 'd', side: 'after' }) as const);
  const sizes = clicks.map((_, count) => selectNeighbourhood(flow, ['d'], { growth: clicks.slice(0, count) }).size);
  expect(sizes.slice(0, 4)).toEqual([40, 60, 80, 100]);
  expect(Math.max(...sizes)).toBe(MAX_CARDS);
});

test('growth shows what else was made of a source; of a node that is not drawn there is none', () => {
  const flow = flowOf('d0>j1', 'j1>d1', 'd0>j2', 'j2>d2', 'j2>d3');
  expect(selectNeighbourhood(flow, ['d1'], { growth: [{ id: 'd0', side: 'after' }] }).size).toBe(6);
  expect(selectNeighbourhood(flow, ['d1'], { growth: [{ id: 'd2', side: 'before' }] }).size).toBe(3);
});

test('a trace of many nodes is cut at the most boxes', () => {
  const flow = chain(200);
  expect(
    selectNeighbourhood(
      flow,
      flow.nodes.map((node) => node.id),
    ).size,
  ).toBe(MAX_CARDS);
});

test('circles end', () => {
  expect(selectNeighbourhood(flowOf('d0>j0', 'j0>d0'), ['d0']).size).toBe(2);
});

test('what is hidden beside a node is counted by side', () => {
  const { links } = hub(7);
  const hidden = countNeighbours(links, new Set(['d', 'j', 'j0', 'd0']));
  expect(hidden.get('d')).toEqual({ before: 0, after: 6 });
  expect(hidden.get('j')).toEqual({ before: 1, after: 0 });
  expect(hidden.has('j0')).toBe(false);
});

test('the depth of each side limits the drawing', () => {
  const flow = chain(5);
  const middle = flow.nodes[4]?.id ?? '';
  const all = selectNeighbourhood(flow, [middle]);
  const near = selectNeighbourhood(flow, [middle], { depth: { before: 2 } });
  const alone = selectNeighbourhood(flow, [middle], { depth: { before: 0, after: 0 } });
  expect(near.size).toBeLessThan(all.size);
  expect([...alone]).toEqual([middle]);
});

test('a box comes with its content', () => {
  const flow = flowOf('d0>j0', 'j0>d1');
  const nodes = flow.nodes.map((node) => (node.id === 'd0' ? { ...node, parent: 'p' } : node));
  const box = { id: 'p', kind: 'PLATFORM' as const, name: 'p' };
  expect(selectNeighbourhood({ ...flow, nodes: [...nodes, box] }, ['d1']).has('p')).toBe(true);
});
