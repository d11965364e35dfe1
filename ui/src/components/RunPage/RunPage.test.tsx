// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';

const STACK = 'Traceback (most recent call last):\n  File "/opt/export.py", line 61, in main';
const BOARD = 'dataset:s3%3A//lake:exports/board';
const ORDERS = 'dataset:s3%3A//lake:orders';

function node(id: string, kind: string, properties: object, more: object = {}) {
  const descriptions = { owners: ['team:orders'], stewards: [], tags: ['pii'], tagValues: ['pii=none'], terms: [] };
  return { id, kind, name: 'export', properties, containers: [], descriptions, ...more };
}
const failed = {
  state: 'FAIL',
  startedAt: '2026-02-03T09:00:00Z',
  endedAt: '2026-02-03T09:00:08Z',
  [`input:${ORDERS}`]: {},
};
const error = { message: 'write refused', stackTrace: STACK, cut: false };
const job = node(
  'job:airflow:export',
  'JOB',
  {},
  {
    facts: {
      sql: { query: 'select 1 from orders', cut: false },
      sourcePlace: { url: null, stated: 'javascript:alert(1)', path: 'jobs/export.sql', version: '4f2a91c' },
    },
  },
);
const lineage = () => ({
  nodes: [],
  edges: [
    { src: ORDERS, dst: job.id, kind: 'READS', former: true, properties: {} },
    { src: job.id, dst: BOARD, kind: 'WRITES', former: false, properties: {} },
  ],
  truncated: 0,
});
const runLineage = () => ({
  ...lineage(),
  edges: [
    { src: 'run:1', dst: BOARD, kind: 'WRITES', former: false, properties: {} },
    {
      src: 'run:1',
      dst: 'partition:s3%3A//lake/exports/board/part-0:9:1',
      kind: 'WRITES',
      former: false,
      properties: {},
    },
  ],
});

test('a failed run shows its error, the stack trace, what it was to write, and its SQL', async () => {
  renderPage('/?page=run&item=run:1', {
    query: { node: () => node('run:1', 'RUN', failed, { containers: [job], facts: { error } }), lineage: runLineage },
  });
  expect(await screen.findByRole('heading', { level: 1, name: 'A run of export' })).toBeVisible();
  const alert = screen.getByRole('alert');
  expect(alert).toHaveTextContent('write refused');
  expect(alert).toHaveTextContent('File "/opt/export.py", line 61, in main');
  expect(screen.getByText('Was to write').parentElement).toHaveTextContent(/^Was to writeboard$/);
  expect(screen.getByText('Read').parentElement).toHaveTextContent(/^Readorders$/);
  expect(screen.getByRole('region', { name: 'SQL' })).toHaveTextContent('select 1 from orders');
  // An address that is no web address is no link.
  expect(screen.getByText('jobs/export.sql').closest('a')).toBeNull();
});

test('a job shows its runs over time, its former inputs, owners and tags', async () => {
  const user = userEvent.setup();
  const runs = [node('run:1', 'RUN', failed), node('run:2', 'RUN', { ...failed, state: 'COMPLETE' })];
  renderPage(`/?page=job&item=${job.id}`, {
    query: { node: () => job, lineage, runs: () => ({ nodes: runs, edges: [], pageInfo: {} }) },
  });
  const table = await screen.findByRole('table', { name: 'Runs, the latest first' });
  expect(within(table).getAllByRole('row')).toHaveLength(3);
  expect(screen.getByText(/^Durations of the last 2 runs/)).toHaveTextContent('usually 8.0 s');
  expect(screen.getByRole('link', { name: 'orders' }).closest('li')).toHaveTextContent('former');
  expect(screen.getByRole('link', { name: 'board' }).closest('li')).not.toHaveTextContent('former');
  expect(screen.getByText('team:orders')).toBeVisible();
  expect(screen.getByText('pii: none')).toBeVisible();
  await user.click(within(table).getAllByRole('link')[0] as HTMLElement);
  expect(location.search).toContain('page=run');
});

test('an unknown run or job says so', async () => {
  renderPage('/?page=run&item=run:9', { query: { node: () => null, lineage } });
  expect(await screen.findByText('There is no such run.')).toBeVisible();
});

test('the impact of a dataset is a list that can be saved as CSV', async () => {
  const user = userEvent.setup();
  const rows = [
    { node: job, distance: 1, path: [REPORT, job.id], owners: [], lastRun: 'run:1', updated: '2026-02-03T09:00:00Z' },
    { node: node(BOARD, 'DATASET', {}), distance: 2, path: [REPORT, job.id, BOARD], owners: ['=team'], lastRun: null },
  ];
  const impact = () => ({ rows, total: 2, beyond: 3, former: 4, exact: true, reasons: [], cursor: null });
  renderPage(`/?${new URLSearchParams({ dataset: REPORT, page: 'impact' })}`, { query: { impact } });
  const table = await screen.findByRole('table', { name: 'Impact, the nearest first' });
  expect(within(table).getByRole('row', { name: /board/ })).toHaveTextContent('s3://lake1 job=teamexport');
  expect(screen.getByText('At least 3 more nodes are further away.')).toBeVisible();
  expect(screen.getByText('4 more only through links that their jobs have given up.')).toBeVisible();
  const blobs: Blob[] = [];
  Object.assign(URL, { createObjectURL: (blob: Blob) => blobs.push(blob) && 'blob:', revokeObjectURL: () => {} });
  await user.click(screen.getByRole('button', { name: 'Export' }));
  await user.click(screen.getByRole('button', { name: /^List as CSV/ }));
  const text = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsText(blobs[0] as Blob);
  });
  expect(text).toContain(`${BOARD},dataset,export,1,'=team`);
  await user.type(screen.getByRole('searchbox'), 'nobody');
  expect(screen.getByText('0 datasets.')).toBeVisible();
});
