// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

test('the versions of a dataset are its blocks, page by page, and the cursors of its readers', async () => {
  const user = userEvent.setup();
  renderPage('/?dataset=dataset:file:/demo/out/clean/weather');
  await user.click(await screen.findByRole('link', { name: 'Versions' }));
  const blocks = await screen.findByRole('table', { name: 'Blocks, the latest first' });
  expect(within(blocks).getAllByRole('row')[1]).toHaveTextContent('23delta2026-02-03 09:23:00 UTC');
  await user.click(screen.getByRole('button', { name: 'Older blocks' }));
  expect(await within(blocks).findByText('base')).toBeVisible();
  expect(screen.queryByRole('button', { name: 'Older blocks' })).toBeNull();
  const consumers = screen.getByRole('table', { name: 'Consumers, the furthest behind first' });
  expect(within(consumers).getAllByRole('row')[1]).toHaveTextContent('hourly_weathernew blocksblock 21 2 blocks48');
});

test('a source without a known writer has no blocks', async () => {
  renderPage('/?dataset=dataset:file:/demo/raw/weather.csv&page=versions');
  expect(await screen.findByText('No known run wrote this dataset.')).toBeVisible();
});

const DIFF = {
  dataset: 'dataset:file:/demo/out/report',
  before: { name: 'block 1', asOf: '2026-02-03T09:01:00Z', at: null, runs: [] },
  after: { name: 'now', asOf: null, at: null, runs: [] },
  columns: [
    { name: 'origin', type: 'VARCHAR' },
    { name: 'hours', type: 'BIGINT' },
  ],
  key: ['origin'],
  entries: [
    {
      change: 'CHANGED',
      before: { file: 'file:/demo/a.csv', row: 0, line: 2, values: ['EWR', 669], run: null },
      after: { file: 'file:/demo/b.csv', row: 1, line: 3, values: ['EWR', 668], run: null },
    },
    {
      change: 'ADDED',
      before: null,
      after: { file: 'file:/demo/b.csv', row: 2, line: 4, values: ['JFK', 400], run: null },
    },
  ],
  total: 120,
  added: 1,
  removed: 0,
  changed: 119,
  exact: false,
  incomplete: [{ what: 'part-0', reason: 'it was removed', effect: 'missing' }],
  notes: ['The files of block 1 are kept.'],
};

test('two versions are compared by a key, page by page, and each record leads to its trace', async () => {
  const user = userEvent.setup();
  const calls: Record<string, unknown>[] = [];
  const diff = (_: unknown, variables: Record<string, unknown>) => {
    calls.push(variables);
    return DIFF;
  };
  renderPage('/?dataset=dataset:file:/demo/out/report&page=versions', { scopes: ['read', 'records'], query: { diff } });
  const form = await screen.findByRole('form', { name: 'Compare versions' });
  await user.type(within(form).getByRole('textbox', { name: 'Before' }), '1');
  await user.type(within(form).getByRole('textbox', { name: 'Key columns' }), 'origin, hours');
  await user.click(within(form).getByRole('button', { name: 'Compare' }));
  const table = await screen.findByRole('table', { name: 'Differences between the versions' });
  expect(within(table).getAllByRole('row')[1]).toHaveTextContent(
    'before: line 2after: line 3changedEWRbefore 669 after 668',
  );
  expect(screen.getByText(/From block 1 to now: 1 added, 0 removed, 119 changed/)).toBeVisible();
  expect(screen.getByText('Why this is not exact')).toBeVisible();
  expect(within(table).getByRole('link', { name: 'before: line 2' })).toHaveAttribute(
    'href',
    expect.stringContaining('version=2026-02-03T09%3A01%3A00Z'),
  );
  await user.click(screen.getByRole('button', { name: 'Next' }));
  expect(await screen.findByText(/^51 to 52 of 120/)).toBeVisible();
  expect(calls[0]).toMatchObject({ before: '1', after: 'now', key: ['origin', 'hours'], offset: 0 });
  expect(calls[1]).toMatchObject({ offset: 50 });
});

test('a session without the scope for records cannot compare versions', async () => {
  renderPage('/?dataset=dataset:file:/demo/out/report&page=versions');
  expect(await screen.findByRole('table', { name: 'Blocks, the latest first' })).toBeVisible();
  expect(screen.queryByRole('form', { name: 'Compare versions' })).toBeNull();
});
