// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';
import { searchWorld } from '../../../dev/searches';

const ADDRESS = `/?dataset=${REPORT}&page=why&where=month+%3D+2`;
const record = { file: 'file:/demo/raw/weather.csv', row: 7, values: { wind: '1048' } };

function world() {
  return searchWorld('startWitness', { kind: 'WITNESS', subject: REPORT, result: { records: [record] } });
}

test('a witness is searched for the columns that the reader names', async () => {
  const user = userEvent.setup();
  const { asked, end, ...options } = world();
  renderPage(ADDRESS, options);
  await user.type(await screen.findByRole('textbox', { name: 'Columns whose values must stay' }), 'origin, month,');
  await user.click(screen.getByRole('button', { name: 'Find the records that give the first row' }));
  expect(await screen.findByText('4 trials so far, 12 records left.')).toBeVisible();
  expect(screen.queryByRole('textbox', { name: 'Columns whose values must stay' })).toBeNull();
  expect(asked).toEqual([
    expect.objectContaining({ dataset: REPORT, where: 'month = 2', columns: ['origin', 'month'] }),
  ]);
  end();
  const table = await screen.findByRole('table', { name: 'The record that gives the row' }, { timeout: 5000 });
  expect(within(table).getByText('wind 1048')).toBeVisible();
  expect(screen.getByText(/the program makes no such row \(4 trials\)/)).toBeVisible();
});

test('without names, all columns count', async () => {
  const user = userEvent.setup();
  const { asked, end: _, ...options } = world();
  renderPage(ADDRESS, options);
  await user.click(await screen.findByRole('button', { name: 'Find the records that give the first row' }));
  await screen.findByText('4 trials so far, 12 records left.');
  expect(asked).toEqual([expect.objectContaining({ columns: null })]);
});

test('a cancelled search can be started again', async () => {
  const user = userEvent.setup();
  renderPage(ADDRESS, world());
  await user.click(await screen.findByRole('button', { name: 'Find the records that give the first row' }));
  await user.click(await screen.findByRole('button', { name: 'Cancel the search' }));
  expect(await screen.findByText('The search was cancelled.')).toBeVisible();
  expect(screen.getByRole('button', { name: 'Search again' })).toBeEnabled();
});

test('a session that only reads has no forms', async () => {
  renderPage(ADDRESS, { ...world(), scopes: ['read'] });
  expect(await screen.findByRole('form', { name: 'Wrong rows' })).toBeVisible();
  expect(screen.queryByRole('heading', { name: 'Records that give a row' })).toBeNull();
  expect(screen.queryByRole('heading', { name: 'Clean the result' })).toBeNull();
});
