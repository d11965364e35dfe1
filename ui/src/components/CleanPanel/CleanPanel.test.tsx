// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';
import { searchWorld } from '../../../dev/searches';

const ADDRESS = `/?dataset=${REPORT}&page=why`;
const SOURCE = 'dataset:file:/demo/raw/weather.csv';
const before = { rows: 400, below: 12, least: 0.5, median: 30, mean: 28.25, without: 0 };
const steps = [{ dataset: SOURCE, records: 90, shared: 3, overlap: 0.03, reason: null }];
const plan = { worst: [], best: [], steps, before, after: null, replay: null, differing: null };
const cleaned = { ...plan, after: { ...before, rows: 388, below: 0, least: 4 }, replay: 'r1', differing: 12 };

function world(cleaning: object, notes: string[] = []) {
  const progress = { doing: 'tracing the worst and the best rows' };
  return searchWorld('startClean', {
    kind: 'CLEAN',
    subject: REPORT,
    result: { count: 87, notes, cleaning },
    progress,
  });
}

test('a cleaning shows what it does, and then the quality before and after', async () => {
  const user = userEvent.setup();
  const { asked, end, ...options } = world(cleaned, ['a note']);
  renderPage(ADDRESS, options);
  await user.type(await screen.findByRole('textbox', { name: 'Quality of a row' }), 'coverage');
  await user.type(screen.getByRole('spinbutton', { name: 'Rows are bad below' }), '4');
  await user.click(screen.getByRole('button', { name: 'Clean' }));
  expect(await screen.findByText('Now: tracing the worst and the best rows.')).toBeVisible();
  expect(asked).toEqual([expect.objectContaining({ dataset: REPORT, quality: 'coverage', below: 4, dryRun: false })]);
  end();
  const table = await screen.findByRole('table', { name: 'Quality of the rows' }, { timeout: 5000 });
  expect(within(table).getAllByRole('row')).toHaveLength(3);
  expect(within(table).getByText('388')).toBeVisible();
  expect(screen.getByText(/87 records of .*weather.csv are behind bad rows alone/)).toBeVisible();
  expect(screen.getByText(/12 rows differ from the real data/)).toBeVisible();
  expect(screen.getByRole('link', { name: /page of replays/ })).toHaveAttribute('href', '/?page=replays');
  expect(screen.getByText('a note')).toBeVisible();
});

test('a plan says that nothing has run', async () => {
  const user = userEvent.setup();
  const { asked, end, ...options } = world(plan);
  renderPage(ADDRESS, options);
  await user.type(await screen.findByRole('textbox', { name: 'Quality of a row' }), 'coverage');
  await user.click(screen.getByRole('checkbox', { name: 'Only plan it' }));
  await user.click(screen.getByRole('button', { name: 'Clean' }));
  await screen.findByRole('button', { name: 'Cancel the search' });
  expect(asked).toEqual([expect.objectContaining({ below: null, dryRun: true })]);
  end();
  expect(await screen.findByText(/Nothing has run/, undefined, { timeout: 5000 })).toBeVisible();
  expect(screen.queryByRole('link', { name: /page of replays/ })).toBeNull();
});

test('a refusal is shown below the form', async () => {
  const user = userEvent.setup();
  const { mutation, ...options } = world(plan);
  const startClean = () => {
    throw new Error('wind is no column.');
  };
  renderPage(ADDRESS, { ...options, mutation: { ...mutation, startClean } });
  await user.type(await screen.findByRole('textbox', { name: 'Quality of a row' }), 'wind');
  await user.click(screen.getByRole('button', { name: 'Clean' }));
  expect(await screen.findByRole('alert')).toBeVisible();
  expect(screen.getByRole('textbox', { name: 'Quality of a row' })).toHaveValue('wind');
});
