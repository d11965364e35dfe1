// @vitest-environment jsdom
/** The tab Columns: what describes each column, its lineage, and the jobs that used it. */
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';

const row = (id: string, distance: number) => ({
  node: { id, kind: 'COLUMN', name: id, containers: [] },
  distance,
  path: [],
  owners: ['team:weather'],
  records: null,
  updated: '2026-02-03T09:00:00Z',
  lastRun: 'run:0199a6f0',
});

const impact = (_: unknown, { direction }: { direction: string }) => ({
  rows: direction === 'UPSTREAM' ? [row('column:file:/demo/out/hourly_weather:wind_mph', 1)] : [],
  total: direction === 'UPSTREAM' ? 3 : 0,
  beyond: 0,
  exact: true,
  former: direction === 'UPSTREAM' ? 2 : 0,
  reasons: direction === 'UPSTREAM' ? [] : ['A run stated no columns.'],
  cursor: null,
});

const fieldAccess = () => [
  {
    job: 'job:demo:report',
    kind: 'READ',
    certain: false,
    decidesOnly: true,
    first: '2026-02-02T09:00:00Z',
    last: '2026-02-03T09:00:00Z',
    runs: ['run:1', 'run:2'],
  },
];
const fieldLineage = () => ({
  tags: [{ tag: 'pii', kind: 'DIRECT', origin: 'column:file:/demo/raw/weather.csv:wind_mph', distance: 2 }],
});

test('a column leads to the columns before and behind it, and to the jobs that used it', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}&page=columns`, { query: { impact, fieldAccess, fieldLineage } });
  const columns = await screen.findByRole('table', { name: 'Columns in their order' });
  await user.click(within(columns).getByRole('link', { name: 'Show the lineage and the readers of max_wind_mph' }));
  expect(location.search).toContain('item=max_wind_mph');
  const origins = await screen.findByRole('table', { name: 'What max_wind_mph comes from' });
  expect(within(origins).getAllByRole('row')[1]).toHaveTextContent('wind_mph');
  expect(within(origins).getAllByRole('row')[1]).toHaveTextContent('team:weather');
  expect(screen.getByText('1 column in 1 dataset, the nearest of 3.')).toBeVisible();
  expect(screen.getByText('2 more only through links that their jobs have given up.')).toBeVisible();
  expect(await screen.findByText('No run reported a column that is made from it.')).toBeVisible();
  expect(screen.getByText('A run stated no columns.')).toBeVisible();
  const jobs = await screen.findByRole('table', { name: 'Jobs that used the column, the earliest first' });
  expect(within(jobs).getAllByRole('row')[1]).toHaveTextContent('perhaps read, to choose rows only');
  expect(screen.getByText(/with those of the columns from which it comes: pii\./)).toBeVisible();
  await user.click(within(columns).getByRole('link', { name: 'Hide the lineage and the readers of max_wind_mph' }));
  expect(screen.queryByRole('table', { name: 'What max_wind_mph comes from' })).toBeNull();
});

test('a session without the right to audit is told where people are listed', async () => {
  renderPage(`/?dataset=${REPORT}&page=columns&item=max_wind_mph`, { query: { impact, fieldAccess, fieldLineage } });
  expect(await screen.findByText(/A session with the role auditor also sees/)).toBeVisible();
  expect(screen.queryByRole('form', { name: /audit/i })).toBeNull();
});
