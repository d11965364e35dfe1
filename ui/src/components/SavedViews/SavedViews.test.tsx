// @vitest-environment jsdom
/** Saved views: from any page, on the start page, renamed, shared and removed. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';

const VIEW = {
  id: 'a',
  name: 'Report',
  location: `/?dataset=${encodeURIComponent(REPORT)}`,
  shared: false,
  mine: true,
};

test('a view is saved from its page, and opens from the start page', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(`/?dataset=${REPORT}&page=columns`, { scopes: ['read', 'declare'] });
  const button = await screen.findByRole('button', { name: 'Save this view' });
  await user.click(button);
  await user.keyboard('Columns of the report'); // a reader types at once
  const form = screen.getByRole('form', { name: 'Save this view' });
  expect(within(form).getByLabelText('Name')).toHaveValue('Columns of the report');
  await user.click(within(form).getByLabelText(/^Share/));
  await user.keyboard('{Enter}');
  await waitFor(() => expect(screen.queryByRole('form', { name: 'Save this view' })).toBeNull());
  expect(button).toHaveFocus();
  expect(screen.getByText('The view Columns of the report is saved.')).toBeInTheDocument();
  const [, init] = fetch.mock.calls.find(([, { body }]) => String(body).includes('mutation SaveView')) ?? [];
  expect(JSON.parse(String(init?.body)).variables).toMatchObject({
    shared: true,
    location: expect.stringMatching(/^\/\?dataset=/),
  });
  await user.click(screen.getByRole('link', { name: /^Headwater/ }));
  await user.click(await screen.findByRole('link', { name: 'Columns of the report' }));
  expect(location.search).toContain('page=columns');
});

test('a view takes the place of another with its name only if the reader says so', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`, { scopes: ['read', 'declare'] });
  const button = await screen.findByRole('button', { name: 'Save this view' });
  for (const _ of [1, 2]) {
    await user.click(button);
    await user.type(await screen.findByLabelText('Name'), 'Report{Enter}');
    await waitFor(() => expect(screen.queryByText(/already/) ?? screen.queryByText(/is saved/)).not.toBeNull());
  }
  await user.click(screen.getByLabelText('Replace my view with this name'));
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await screen.findByText('The view Report is saved.');
});

test('a view is renamed, shared and removed by its owner', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`, { scopes: ['read', 'declare'] });
  await user.click(await screen.findByRole('button', { name: 'Save this view' }));
  await user.type(await screen.findByLabelText('Name'), 'Report{Enter}');
  await user.click(screen.getByRole('link', { name: /^Headwater/ }));
  const views = await screen.findByRole('region', { name: 'Saved views' });
  await user.click(within(views).getByRole('button', { name: 'Rename Report' }));
  await user.clear(within(views).getByLabelText('New name'));
  await user.type(within(views).getByLabelText('New name'), 'Flights{Enter}');
  await within(views).findByRole('link', { name: 'Flights' });
  await user.click(within(views).getByRole('button', { name: 'Share Flights' }));
  await within(views).findByText('shared');
  await user.click(within(views).getByRole('button', { name: 'Remove Flights' }));
  await user.click(within(views).getByRole('button', { name: 'Confirm: remove Flights' }));
  await waitFor(() => expect(screen.queryByRole('region', { name: 'Saved views' })).toBeNull());
});

test('a view of another person has no controls, and a foreign address stays on this page', async () => {
  const location = 'https://evil.example.com/?dataset=x';
  const savedViews = () => [{ ...VIEW, mine: false, shared: true, owner: 'bob', location }];
  renderPage('/', { query: { savedViews } });
  const link = await screen.findByRole('link', { name: 'Report' });
  expect(link).toHaveAttribute('href', '/?dataset=x');
  const views = screen.getByRole('region', { name: 'Saved views' });
  expect(within(views).queryByRole('button')).toBeNull();
  expect(views).toHaveTextContent('by bob');
});
