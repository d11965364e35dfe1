import type { Card, Link } from '../graph/scene';
import { predicateOf, usualKey } from './sameRecord';
import { markPathChanges, recordChanges } from './traceChanges';

const record = (values: object, dataset = 'dataset:s:a') => ({
  dataset,
  datasetName: dataset,
  file: 'f',
  row: 0,
  line: null,
  grain: 'RECORD' as const,
  values,
});
const path = (nodes: string[], links: string[] = []) => ({
  nodes: new Set(nodes),
  links: new Set(links),
  coarse: new Set<string>(),
});
const card = (id: string): Card => ({
  id,
  kind: 'DATASET',
  title: id,
  caption: '1 record',
  name: id,
  isFocus: false,
});

test('records are compared by their values as bags, whatever their files and the order of columns', () => {
  const now = { records: [record({ a: 1, b: 2 }), record({ b: 2, a: 1 }), record({ a: 3 })] };
  const before = { records: [record({ b: 2, a: 1 }), record({ a: 4 }), record({ a: 3 }, 'dataset:s:other')] };
  const { changes, kept } = recordChanges(now, before);
  expect(kept).toBe(1);
  expect(changes.map(({ change, record: { values } }) => [change, values])).toEqual([
    ['added', { b: 2, a: 1 }],
    ['added', { a: 3 }],
    ['gone', { a: 4 }],
    ['gone', { a: 3 }],
  ]);
});

test('parts of one path only are marked in words', () => {
  const draft = { cards: ['a', 'b', 'c'].map(card), links: [{ id: 'l', src: 'a', dst: 'b', label: '' }] as Link[] };
  const marked = markPathChanges(draft, path(['a', 'b'], ['l']), path(['a', 'c']));
  expect(marked.cards.map(({ change, caption }) => [change, caption])).toEqual([
    [undefined, '1 record'],
    ['added', 'added · 1 record'],
    ['gone', 'gone · 1 record'],
  ]);
  expect(marked.links[0]).toMatchObject({ change: 'added', label: 'added' });
});

test('the usual key is what the job grouped by, or columns with the name of a key', () => {
  const hop = {
    job: 'j',
    run: 'r',
    output: 'dataset:s:a',
    inputs: [],
    operations: [],
    records: 1,
    grain: 'RECORD' as const,
    expressions: [{ operator: 'Aggregate', made: [], by: ['origin', 'month', 'lost'] }],
  };
  const values = { origin: "O'Hare", month: 2, order_id: 7, total: null };
  expect(usualKey(values, [hop], 'dataset:s:a')).toEqual(['origin', 'month']);
  expect(usualKey(values, [], 'dataset:s:a')).toEqual(['order_id']);
  expect(predicateOf(values, ['origin', 'month', 'total'])).toBe("origin = 'O''Hare' AND month = 2 AND total IS NULL");
});
