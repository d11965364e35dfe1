// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage, traceOf } from '../../../dev/renderPage';

test('a large trace runs as a job, and the page shows its answer', async () => {
  const user = userEvent.setup();
  const { proceed } = renderPage(traceOf(1, 'max_wind_mph'), { large: true });
  expect(await screen.findByText('This trace is large.')).toBeVisible();
  expect(screen.getByText(/80 million rows, which is too much/)).toBeVisible();
  await user.click(screen.getByRole('button', { name: 'Run it as a job' }));
  expect(await screen.findByText(/followed by jobs of Spark/)).toBeVisible();
  proceed();
  expect(await screen.findByRole('heading', { level: 1 })).toHaveTextContent('max_wind_mph');
  expect(screen.queryByText('This trace is large.')).toBeNull();
});

test('a cancelled job can be started again', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'), { large: true });
  await user.click(await screen.findByRole('button', { name: 'Run it as a job' }));
  await user.click(await screen.findByRole('button', { name: 'Cancel' }));
  expect(await screen.findByText('This trace was cancelled.')).toBeVisible();
  await user.click(screen.getByRole('button', { name: 'Run it again' }));
  await waitFor(() => expect(screen.getByRole('region', { name: 'A large trace' })).toBeVisible());
});
