// @vitest-environment jsdom
import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

const COUNTS = `/?${new URLSearchParams({
  dataset: 'dataset:file:/demo/out/station_counts',
  file: 'file:/demo/out/station_counts/part-00000',
  row: '0',
})}`;

test('a program without record lineage can run again, and the page loads the trace again', async () => {
  const user = userEvent.setup();
  const { proceed } = renderPage(COUNTS, { scopes: ['read', 'replay'] });
  await user.click(await screen.findByRole('button', { name: 'Find the records of station_counts' }));
  expect(await screen.findByText('The program of station_counts runs again.')).toBeVisible();
  proceed();
  expect(await screen.findByText(/wrote the same files/)).toBeVisible();
  expect(screen.queryByRole('button', { name: 'Find the records of station_counts' })).toBeNull();
});

test('a program with a different output is named, and can run again', async () => {
  const user = userEvent.setup();
  const { proceed } = renderPage(COUNTS, { scopes: ['read', 'replay'], differs: true });
  await user.click(await screen.findByRole('button', { name: 'Find the records of station_counts' }));
  proceed();
  expect(await screen.findByText(/holds other bytes/)).toBeVisible();
  expect(screen.getByRole('button', { name: 'Find the records of station_counts' })).toBeEnabled();
});

test('a session that only reads has no button for a recapture', async () => {
  renderPage(COUNTS);
  expect(await screen.findByText('Why this is not exact')).toBeVisible();
  expect(screen.queryByRole('button', { name: /Find the records/ })).toBeNull();
});
