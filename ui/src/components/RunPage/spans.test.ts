import { spansOf } from './spans';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const part = (id: string, from: number, to: number | undefined, more: object = {}) => ({
  id,
  name: id,
  properties: { startedAt: at(from), ...(to !== undefined && { endedAt: at(to) }), ...more },
});
const stage = (
  id: string,
  from: number,
  to: number | undefined,
  tasks: ReturnType<typeof part>[],
  total = tasks.length,
) => ({
  ...part(id, from, to),
  children: { total, nodes: tasks },
});

test('stages come in the order of time, each before its tasks', () => {
  const spans = spansOf([
    stage('s1', 9, 12, [part('t2', 9, 12)]),
    stage('s0', 0, 8, [part('t1', 2, 8), part('t0', 1, 5)]),
  ]);
  expect(spans.map(({ id, isPart }) => [id, isPart ?? false])).toEqual([
    ['s0', false],
    ['t0', true],
    ['t1', true],
    ['s1', false],
    ['t2', true],
  ]);
});

test('a task that takes much longer than the middle one is slow, and a failed one is failed', () => {
  const tasks = [
    part('a', 0, 1),
    part('b', 0, 1),
    part('c', 0, 9, { rows: 1200 }),
    part('d', 0, 1, { state: 'FAILED' }),
  ];
  const notes = Object.fromEntries(spansOf([stage('s', 0, 9, tasks)]).map(({ id, note }) => [id, note]));
  expect(notes).toMatchObject({ a: '', c: '1,200 rows, slow', d: 'failed' });
});

test('of many tasks the longest are shown, and the stage says so', () => {
  const tasks = Array.from({ length: 40 }, (_, index) => part(`t${index}`, 0, index));
  const [first, ...shown] = spansOf([stage('s', 0, 40, tasks, 500)]);
  expect(first?.note).toBe('the 12 longest of 500 tasks');
  expect(shown.map(({ id }) => id)).toContain('t39');
  expect(shown).toHaveLength(12);
});

test('parts without a known start are left out, and running ones have no end', () => {
  const spans = spansOf([
    stage('s', 0, undefined, []),
    { ...stage('x', 0, 1, []), properties: { startedAt: 'never' } },
  ]);
  expect(spans.map(({ id, end }) => [id, end])).toEqual([['s', undefined]]);
});
