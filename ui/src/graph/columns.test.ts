import { columnsByDataset, columnTrail, sourcesOfColumn } from './columns';
import type { LineageGraph } from './types';

const derives = (src: string, dst: string, type = 'DIRECT') => ({
  src: `column:f:${src}`,
  dst: `column:f:${dst}`,
  kind: 'DERIVES' as const,
  properties: { transformations: [{ type }] },
});

const graph: LineageGraph = {
  nodes: [],
  edges: [
    derives('raw:wind', 'clean:wind'),
    derives('clean:wind', 'report:max'),
    derives('raw:origin', 'clean:origin'),
    derives('clean:origin', 'report:max', 'INDIRECT'),
    derives('clean:origin', 'report:origin'),
  ],
  truncated: 0,
};

test('a trail backward follows values, and not what only chose the rows', () => {
  expect([...columnTrail(graph, 'column:f:report:max', 'backward')]).toEqual([
    'column:f:report:max',
    'column:f:clean:wind',
    'column:f:raw:wind',
  ]);
});

test('a trail forward is the way back', () => {
  expect(columnTrail(graph, 'column:f:raw:wind', 'forward')).toContain('column:f:report:max');
});

test('a cycle ends the trail', () => {
  const cycle = { ...graph, edges: [derives('a:x', 'a:x'), derives('a:x', 'b:x'), derives('b:x', 'a:x')] };
  expect(columnTrail(cycle, 'column:f:a:x', 'backward').size).toBe(2);
});

test('a value begins where nothing further is known', () => {
  expect(sourcesOfColumn(graph, 'column:f:report:max')).toEqual(['dataset:f:raw']);
  expect(sourcesOfColumn(graph, 'column:f:other:x')).toEqual(['dataset:f:other']);
});

test('a sum of two datasets has two sources', () => {
  const sum = { ...graph, edges: [derives('a:x', 'c:x'), derives('b:y', 'c:x')] };
  expect(sourcesOfColumn(sum, 'column:f:c:x').sort()).toEqual(['dataset:f:a', 'dataset:f:b']);
});

test('columns are named by their dataset', () => {
  const named = columnsByDataset(['column:f:raw:wind', 'column:f:raw:origin', 'column:f:report:max']);
  expect(named.get('dataset:f:raw')).toEqual(new Set(['wind', 'origin']));
  expect(named.get('dataset:f:report')).toEqual(new Set(['max']));
});
