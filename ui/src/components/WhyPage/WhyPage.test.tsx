// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';

const SOURCE = 'dataset:file:/demo/raw/weather.csv';
const found = { condition: '"month" = 2', bad: 669, good: 3, precision: 0.9955, recall: 1 };

function explain(asked: object[], more: object = {}) {
  return (_: unknown, question: object) => {
    asked.push(question);
    const source = { dataset: SOURCE, bad: 669, good: 2000, unused: [], hidden: ['salary'], isComplete: true };
    return { exact: true, incomplete: [], sources: [{ ...source, explanations: [found] }], ...more };
  };
}

test('the predicate of wrong rows is explained, and masked columns are named', async () => {
  const asked: object[] = [];
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}&page=why`, { query: { explain: explain(asked) } });
  await user.type(await screen.findByRole('textbox', { name: /Wrong rows are those where/ }), 'wind > 250');
  await user.click(screen.getByRole('button', { name: 'Explain' }));
  const table = await screen.findByRole('table', { name: 'Conditions on /demo/raw/weather.csv' });
  expect(within(table).getByText('"month" = 2')).toBeVisible();
  expect(within(table).getByText('0.995')).toBeVisible();
  expect(screen.getByText(/Masked columns are left out: salary/)).toBeVisible();
  expect(asked).toEqual([expect.objectContaining({ bad: 'wind > 250' })]);
  expect(screen.queryByRole('button', { name: 'Find the records to blame' })).toBeNull();
});

test('an answer that is not exact says why, and no condition is said', async () => {
  const incomplete = [{ what: 'other rows', reason: 'only the first 20,000 were compared', effect: 'missing' }];
  renderPage(`/?dataset=${REPORT}&page=why&where=true`, {
    query: { explain: explain([], { exact: false, incomplete, sources: [] }) },
  });
  expect(await screen.findByText('other rows: only the first 20,000 were compared')).toBeVisible();
  expect(screen.getByText(/No condition separates the records/)).toBeVisible();
});

test('a blame shows its progress and then the records', async () => {
  const user = userEvent.setup();
  const searches: Record<string, unknown>[] = [];
  const state = { ended: false };
  const base = {
    id: 's1',
    kind: 'BLAME',
    subject: REPORT,
    startedAt: '2026-02-03T09:00:00Z',
    error: null,
    problem: null,
    step: null,
    function: null,
    trials: 4,
    left: 12,
    isMinimal: true,
    count: 1,
    records: [],
    origins: [],
    notes: [],
  };
  const record = { file: 'file:/demo/raw/weather.csv', row: 7, values: { wind: '1048' } };
  const query = {
    explain: explain([]),
    culpritSearches: () =>
      searches.map((each) => ({
        ...each,
        state: state.ended ? 'COMPLETE' : 'RUNNING',
        records: state.ended ? [record] : [],
      })),
  };
  const mutation = {
    startBlame: (_: unknown, asked: { where: string }) => {
      expect(asked.where).toBe('wind > 250');
      searches.push(base);
      return { ...base, state: 'RUNNING' };
    },
  };
  renderPage(`/?dataset=${REPORT}&page=why&where=wind+%3E+250`, { query, mutation, scopes: ['read', 'replay'] });
  await user.click(await screen.findByRole('button', { name: 'Find the records to blame' }));
  expect(await screen.findByText('4 trials so far, 12 records left.')).toBeVisible();
  state.ended = true;
  const table = await screen.findByRole('table', { name: 'The record to blame' }, { timeout: 5000 });
  expect(within(table).getByText('wind 1048')).toBeVisible();
  expect(screen.getByText(/the programs make no wrong row \(4 trials\)/)).toBeVisible();
});
