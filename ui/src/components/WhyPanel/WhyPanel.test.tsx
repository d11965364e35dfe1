// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

const RUN = 'run:1';
const WRITING = ['read', 'replay'];
const record = { file: 'file:/data/people.csv', row: 13337, values: { id: '13337', age: 'x17', name: null } };

function world(ending: object = {}) {
  const searches: Record<string, unknown>[] = [];
  const base = {
    id: 's1',
    kind: 'WHY',
    subject: RUN,
    startedAt: '2026-02-03T09:00:00Z',
    error: null,
    problem: null,
    step: '/jobs/report.py:6',
    function: null,
    trials: 3,
    left: 17000,
    isMinimal: true,
    count: 1,
    records: [],
    origins: [],
    notes: [],
  };
  const state = { ended: false };
  const query = {
    node: () => ({
      id: RUN,
      kind: 'RUN',
      name: 'report',
      properties: { state: 'FAIL' },
      containers: [],
      facts: { error: { message: 'invalid literal', stackTrace: null, cut: false } },
    }),
    lineage: () => ({ nodes: [], edges: [], truncated: 0 }),
    culpritSearches: () =>
      searches.map((search) => (state.ended ? { ...search, state: 'COMPLETE', records: [record], ...ending } : search)),
  };
  const mutation = {
    startWhy: (_: unknown, { run }: { run: string }) => {
      const search = { ...base, subject: run, state: 'RUNNING' };
      searches.push(search);
      return search;
    },
    cancelCulpritSearch: () => {
      state.ended = true;
      return { ...base, state: 'RUNNING' };
    },
  };
  return { query, mutation, state, searches };
}

async function startSearch(ending: object = {}) {
  const user = userEvent.setup();
  const made = world(ending);
  renderPage(`/?page=run&item=${RUN}`, { ...made, scopes: WRITING });
  await user.click(await screen.findByRole('button', { name: 'Find the record at which it failed' }));
  expect(await screen.findByText('3 trials so far, 17,000 records left.')).toBeVisible();
  return { user, ...made };
}

test('a search shows its progress, and then the record with its values', async () => {
  const { state } = await startSearch();
  state.ended = true;
  const table = await screen.findByRole('table', { name: 'The record that fails' }, { timeout: 5000 });
  expect(within(table).getByText('/data/people.csv')).toBeVisible();
  expect(within(table).getByText('id 13337, age x17, name NULL')).toBeVisible();
  expect(screen.getByText(/does not fail in this way \(3 trials\)/)).toBeVisible();
});

test('a cancelled search shows why it has no record', async () => {
  const { user } = await startSearch({ state: 'FAILED', error: 'The search was cancelled.', records: [] });
  await user.click(screen.getByRole('button', { name: 'Cancel the search' }));
  expect(await screen.findByText('The search was cancelled.')).toBeVisible();
  expect(screen.getByRole('button', { name: 'Search again' })).toBeEnabled();
});

test('a session that only reads has no panel without a search', async () => {
  renderPage(`/?page=run&item=${RUN}`, world());
  expect(await screen.findByText('invalid literal')).toBeVisible();
  expect(screen.queryByRole('heading', { name: 'Why?' })).toBeNull();
});
