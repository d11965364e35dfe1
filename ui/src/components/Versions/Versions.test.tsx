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
