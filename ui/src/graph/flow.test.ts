import { dropFormerLinks, linkId, makeFlow, mergeGraphs, restrictFlow } from './flow';
import { endsOf, highlightOf, inDataOrder } from './path';
import type { GraphNode, LineageGraph, PathHop } from './types';

const node = (id: string, kind: GraphNode['kind']): GraphNode => ({ id, kind, name: id, properties: {} });

const graph: LineageGraph = {
  nodes: [
    node('raw', 'DATASET'),
    node('clean', 'JOB'),
    node('tidy', 'DATASET'),
    node('run', 'RUN'),
    node('count', 'JOB'),
    node('sums', 'DATASET'),
  ],
  edges: [
    { src: 'raw', dst: 'clean', kind: 'READS' },
    { src: 'clean', dst: 'tidy', kind: 'WRITES' },
    { src: 'clean', dst: 'run', kind: 'CONTAINS' },
    { src: 'raw', dst: 'count', kind: 'READS' },
    { src: 'count', dst: 'sums', kind: 'WRITES' },
    { src: 'elsewhere', dst: 'count', kind: 'READS' },
  ],
  truncated: 0,
};

const hop = (job: string, inputs: string[], output: string, grain: PathHop['grain'] = 'RECORD'): PathHop => ({
  job,
  inputs,
  output,
  grain,
  run: `run of ${job}`,
  operations: [],
  records: 1,
});

test('a flow holds datasets and jobs alone, and no link without both ends', () => {
  const flow = makeFlow(graph);
  expect(flow.nodes.map((each) => each.id)).toEqual(['raw', 'clean', 'tidy', 'count', 'sums']);
  expect(flow.links.map((each) => each.id)).toEqual([
    linkId('raw', 'clean'),
    linkId('clean', 'tidy'),
    linkId('raw', 'count'),
    linkId('count', 'sums'),
  ]);
});

test('restricting a flow to a path drops the links that leave it', () => {
  const path = highlightOf([hop('clean', ['raw'], 'tidy')]);
  const flow = restrictFlow(makeFlow(graph), path.nodes);
  expect(flow.nodes.map((each) => each.id)).toEqual(['raw', 'clean', 'tidy']);
  expect(flow.links).toHaveLength(2);
});

test('merged graphs hold each node and edge once, and keep the larger count of what was cut', () => {
  const merged = mergeGraphs(graph, { ...graph, truncated: 7 });
  expect(merged.nodes).toHaveLength(graph.nodes.length);
  expect(merged.edges).toHaveLength(graph.edges.length);
  expect(merged.truncated).toBe(7);
});

test('a coarse hop marks its job and its links, and not its datasets', () => {
  const { coarse, nodes } = highlightOf([hop('clean', ['raw'], 'tidy'), hop('count', ['raw'], 'sums', 'DATASET')]);
  expect([...coarse].sort()).toEqual(['count', linkId('count', 'sums'), linkId('raw', 'count')].sort());
  expect(nodes).toContain('raw');
});

test('a record that no hop moved still stands in its dataset', () => {
  expect([...highlightOf([], ['raw']).nodes]).toEqual(['raw']);
});

test('hops come in the order in which data flowed', () => {
  const hops = [hop('c', ['b'], 'end'), hop('b', ['a'], 'b'), hop('a', ['raw'], 'a')];
  expect(inDataOrder(hops).map((each) => each.job)).toEqual(['a', 'b', 'c']);
});

test('a trace ends where no hop goes on', () => {
  const hops = [hop('c', ['b', 'side'], 'end'), hop('b', ['a'], 'b'), hop('a', ['raw'], 'a')];
  expect(endsOf(hops, 'backward')).toEqual(['side', 'raw']);
  expect(endsOf(hops, 'forward')).toEqual(['end']);
});

test('a cycle of hops is not lost', () => {
  const hops = [hop('a', ['y'], 'x'), hop('b', ['x'], 'y')];
  expect(inDataOrder(hops)).toHaveLength(2);
});

test('former links are marked, and dropped except on the path of a trace', () => {
  const edge = (src: string, former: boolean) => ({ src, dst: 'job:a', kind: 'READS' as const, former });
  const graph = {
    nodes: ['dataset:x', 'dataset:y', 'dataset:z'].map((id) => ({ id, kind: 'DATASET' as const, name: id })),
    edges: [edge('dataset:x', true), edge('dataset:y', false), edge('dataset:z', true)],
    truncated: 0,
  };
  const flow = makeFlow({ ...graph, nodes: [...graph.nodes, { id: 'job:a', kind: 'JOB', name: 'a' }] });
  expect(flow.links.map(({ isFormer = false }) => isFormer)).toEqual([true, false, true]);
  const path = new Set([linkId('dataset:z', 'job:a')]);
  expect(dropFormerLinks(flow).links.map(({ src }) => src)).toEqual(['dataset:y']);
  expect(dropFormerLinks(flow, path).links.map(({ src }) => src)).toEqual(['dataset:y', 'dataset:z']);
});
