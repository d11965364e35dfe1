import { countChanges, type Difference, markChanges, withGone } from './changes';
import { flowOfView, type ViewNode } from './view';

const node = (id: string, kind: 'DATASET' | 'COLUMN' = 'DATASET') => ({
  id,
  kind,
  name: id,
  unwritten: false,
  containers: [],
});
const shown = (id: string, members = 1, kind: 'DATASET' | 'COLUMN' = 'DATASET'): ViewNode => ({
  node: node(id, kind),
  members,
  distance: 0,
  focus: false,
  upstream: false,
  downstream: false,
  wholly: true,
});
const link = (src: string, dst: string, weight = 1) => ({ src, dst, weight, direct: true, via: 0 });
const NONE: Difference = { nodesAdded: [], nodesRemoved: [], edgesAdded: [], edgesRemoved: [] };

test('nodes and links that are gone stay in the drawing, but no link without its ends', () => {
  const difference = {
    ...NONE,
    nodesRemoved: [node('old')],
    edgesRemoved: [
      { src: 'old', dst: 'a' },
      { src: 'far', dst: 'a' },
    ],
  };
  const whole = withGone({ nodes: [shown('a')], edges: [] }, difference);
  const flow = markChanges(flowOfView(whole.nodes, whole.edges), difference);
  expect(flow.nodes.map(({ id, change }) => [id, change])).toEqual([
    ['a', undefined],
    ['old', 'gone'],
  ]);
  expect(flow.links.map(({ id, change }) => [id, change])).toEqual([['old→a', 'gone']]);
});

test('a node or link whose members differ has changed', () => {
  const after = { nodes: [shown('a', 3), shown('b')], edges: [link('a', 'b', 5)] };
  const before = { nodes: [shown('a', 2), shown('b')], edges: [link('a', 'b', 4)] };
  const flow = markChanges(flowOfView(after.nodes, after.edges), NONE, before);
  expect(countChanges(flow)).toEqual({
    nodes: { added: 0, gone: 0, changed: 1 },
    links: { added: 0, gone: 0, changed: 1 },
  });
  expect(countChanges(markChanges(flowOfView(after.nodes, after.edges), NONE, after)).nodes.changed).toBe(0);
});

test('a dataset with some new columns has changed, and one with new columns only is added', () => {
  const columns = ['column:s:a:x', 'column:s:a:y', 'column:s:b:z'];
  const flow = flowOfView(
    columns.map((id) => shown(id, 1, 'COLUMN')),
    [],
  );
  const nodesAdded = [node('column:s:a:y', 'COLUMN'), node('column:s:b:z', 'COLUMN')];
  const marked = markChanges(flow, { ...NONE, nodesAdded });
  expect(marked.nodes.map(({ id, change }) => [id, change])).toEqual([
    ['dataset:s:a', 'changed'],
    ['dataset:s:b', 'added'],
  ]);
});
