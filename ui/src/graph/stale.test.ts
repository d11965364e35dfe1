import type { NodeState } from '../facts/runs';
import { markStale, markSuspects } from './stale';

const fact = (state: NodeState) => ({ state, age: '2 h', text: `last run 2 hours ago, ${state}` });
const link = (srcCard: string, dstCard: string, more = {}) => ({ srcCard, dstCard, ...more });
const cards = [{ id: 'dataset:s:clean', title: 'clean' }];

test('everything downstream of a dataset that a failed run did not write is stale', () => {
  const facts = new Map([
    ['job:s:clean', fact('failed')],
    ['dataset:s:clean', fact('failed')],
    ['job:s:join', fact('good')],
    ['dataset:s:other', fact('good')],
  ]);
  const links = [
    link('job:s:clean', 'dataset:s:clean'),
    link('dataset:s:clean', 'job:s:join'),
    link('job:s:join', 'dataset:s:mart'),
    link('dataset:s:mart', 'job:s:join'),
    link('dataset:s:clean', 'dataset:s:other', { isFormer: true }),
  ];
  const marked = markStale(facts, cards, links);
  expect([...marked].map(([id, { state }]) => [id, state])).toEqual([
    ['job:s:clean', 'failed'],
    ['dataset:s:clean', 'failed'],
    ['job:s:join', 'stale'],
    ['dataset:s:other', 'good'],
    ['dataset:s:mart', 'stale'],
  ]);
  expect(marked.get('job:s:join')?.text).toBe(
    'last run 2 hours ago, good; stale, because the last run that writes clean failed',
  );
});

test('a failed job whose dataset another run wrote since leaves nothing stale', () => {
  const facts = new Map([
    ['job:s:clean', fact('failed')],
    ['dataset:s:clean', fact('good')],
  ]);
  expect(markStale(facts, cards, [link('job:s:clean', 'dataset:s:clean')])).toBe(facts);
});

test('a job with unusual values has their number, and its state stays', () => {
  const facts = new Map([
    ['job:s:clean', fact('good')],
    ['job:s:join', fact('failed')],
  ]);
  const marked = markSuspects(
    facts,
    new Map([
      ['job:s:clean', 2],
      ['job:s:join', 0],
      ['job:s:gone', 1],
    ]),
  );
  expect(marked.get('job:s:clean')).toEqual({
    ...fact('good'),
    unusual: 2,
    text: 'last run 2 hours ago, good, 2 unusual values',
  });
  expect(marked.get('job:s:join')).toEqual(fact('failed'));
  expect(marked.has('job:s:gone')).toBe(false);
});
