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

const verdict = (sequence: number, reasons: string[] = []) => ({
  sequence,
  version: `version:out/report:${sequence}`,
  isCollectable: reasons.length === 0,
  reasons,
  files: 2,
  bytes: 2000,
});

test('a collection is planned, applied after a second click, and put back', async () => {
  const user = userEvent.setup();
  const calls: Record<string, unknown>[] = [];
  const collectBlocks = (_: unknown, variables: Record<string, unknown>) => {
    calls.push(variables);
    const moved = variables.apply ? { id: 'c1', trash: '/demo/out/.trash-c1' } : { id: null, trash: null };
    return { ...moved, dataset: variables.dataset, verdicts: [verdict(1), verdict(2, ['it is the current version'])] };
  };
  const restoreBlocks = (_: unknown, { id }: { id: string }) => `/demo/out/report of ${id}`;
  renderPage('/?dataset=dataset:file:/demo/out/report&page=versions', {
    scopes: ['read', 'replay'],
    mutation: { collectBlocks, restoreBlocks },
  });
  const section = await screen.findByRole('region', { name: 'Drop blocks' });
  await user.click(within(section).getByRole('button', { name: 'Plan' }));
  const table = await within(section).findByRole('table', { name: /^Blocks, and whether/ });
  expect(within(table).getAllByRole('row')[2]).toHaveTextContent('it is the current version');
  expect(section).toHaveTextContent('1 block may be dropped: 2.0 kB.');
  await user.click(within(section).getByRole('button', { name: 'Drop 1 block' }));
  expect(calls).toHaveLength(1);
  await user.click(within(section).getByRole('button', { name: 'Confirm: drop 1 block' }));
  expect(await within(section).findByText('The files of 1 block moved to /demo/out/.trash-c1.')).toBeVisible();
  expect(calls[1]).toMatchObject({ keep: 1, apply: true });
  await user.click(within(section).getByRole('button', { name: 'Put back the old files' }));
  await user.click(within(section).getByRole('button', { name: 'Confirm: put back the old files' }));
  expect(await within(section).findByText('The files are back in /demo/out/report of c1.')).toBeVisible();
});

test('a merge names what forbids it, and is followed until it is complete', async () => {
  const user = userEvent.setup();
  const plan = { id: null, error: null, blocks: [1, 2, 3], files: 3, bytes: 4000, reasons: [] as string[], notes: [] };
  const states = ['planned', 'running', 'complete'];
  let reasons = ['a run reads the dataset now'];
  const compactBlocks = (_: unknown, { dataset, apply }: { dataset: string; apply: boolean }) => {
    if (reasons.length > 0) return { ...plan, dataset, state: 'planned', reasons };
    if (apply) states.shift();
    const [state] = states;
    if (state === 'running') states.shift();
    return { ...plan, dataset, state, id: state === 'complete' ? 'm1' : null };
  };
  renderPage('/?dataset=dataset:file:/demo/out/report&page=versions', {
    scopes: ['read', 'replay'],
    mutation: { compactBlocks },
  });
  const section = await screen.findByRole('region', { name: 'Merge blocks' });
  await user.click(within(section).getByRole('button', { name: 'Plan a merge' }));
  expect(await within(section).findByText('a run reads the dataset now.')).toBeVisible();
  expect(within(section).queryByRole('button', { name: /^Merge/ })).toBeNull();
  reasons = [];
  await user.click(within(section).getByRole('button', { name: 'Plan a merge' }));
  await user.click(await within(section).findByRole('button', { name: 'Merge 3 blocks' }));
  await user.click(within(section).getByRole('button', { name: 'Confirm: merge 3 blocks' }));
  expect(await within(section).findByText(/The blocks are being merged/)).toBeVisible();
  expect(await within(section).findByText(/The merge is complete/, undefined, { timeout: 60_000 })).toBeVisible();
  expect(within(section).getByRole('button', { name: 'Put back the old files' })).toBeVisible();
});

test('a session without the scope to replay has no buttons that change blocks', async () => {
  renderPage('/?dataset=dataset:file:/demo/out/report&page=versions');
  expect(await screen.findByRole('table', { name: 'Blocks, the latest first' })).toBeVisible();
  expect(screen.queryByRole('region', { name: 'Drop blocks' })).toBeNull();
  expect(screen.queryByRole('region', { name: 'Merge blocks' })).toBeNull();
});
