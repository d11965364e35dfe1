// @vitest-environment jsdom
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

const ADMIN = { scopes: ['admin', 'audit', 'read'] };

test('a session without the scope finds no link, and the address explains the refusal', async () => {
  renderPage('/?page=admin');
  expect(await screen.findByText('This session may not open “Administration”.')).toBeVisible();
  expect(screen.queryByRole('link', { name: 'Administration' })).toBeNull();
  expect(screen.queryByRole('heading', { name: 'Keys' })).toBeNull();
});

test('a key is created and shown once, with the token of the page', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage('/', ADMIN);
  await user.click(await screen.findByRole('link', { name: 'Administration' }));
  const form = await screen.findByRole('form', { name: 'Create a key' });
  await within(form).findByRole('option', { name: 'producer' });
  await user.type(within(form).getByRole('textbox', { name: 'Name' }), 'loader');
  await user.selectOptions(within(form).getByRole('combobox', { name: 'Role' }), 'producer');
  await user.click(within(form).getByRole('button', { name: 'Create a key' }));
  expect(await screen.findByText('hwk_00000001_secret')).toBeVisible();
  const table = screen.getByRole('table', { name: 'Named keys' });
  await waitFor(() => expect(within(table).getByRole('rowheader', { name: 'loader' })).toBeVisible());
  const asked = fetch.mock.calls.map(([, init]) => init).filter((init) => String(init?.body).includes('createKey'));
  expect(asked).toHaveLength(1);
  expect(asked[0]?.headers).toMatchObject({ 'x-headwater-token': 'token-of-the-page' });
  expect(JSON.parse(String(asked[0]?.body)).variables).toEqual({
    name: 'loader',
    roles: ['producer'],
    tenant: null,
    days: 90,
  });
});

test('the second click revokes a key', async () => {
  const user = userEvent.setup();
  renderPage('/?page=admin', ADMIN);
  await user.click(await screen.findByRole('button', { name: 'Revoke the key of airflow' }));
  await user.click(screen.getByRole('button', { name: 'Confirm: revoke the key of airflow' }));
  expect(await screen.findByText('There are no named keys yet.')).toBeVisible();
});

test('the audit log is searched by person and verified', async () => {
  const user = userEvent.setup();
  renderPage('/?page=admin', ADMIN);
  const table = await screen.findByRole('table', { name: /^Entries of the audit log/ });
  expect(within(table).getByRole('cell', { name: '/demo/out/report' })).toBeVisible();
  await user.click(screen.getByRole('button', { name: 'Verify' }));
  expect(await screen.findByText(/^No line was changed or removed since/)).toBeVisible();
  await user.type(screen.getByRole('textbox', { name: 'Person or key' }), 'bob');
  await user.click(screen.getByRole('button', { name: 'Search' }));
  expect(await screen.findByText('No entry of the audit log matches.')).toBeVisible();
});

test('the sign-out goes to the address that the service names', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage('/');
  const assign = vi.fn();
  const button = await screen.findByRole('button', { name: 'Sign out' });
  vi.stubGlobal('location', { assign, pathname: '/', search: '' });
  fetch.mockImplementation(() => Response.json({ next: 'https://login.example.com/end' }));
  await user.click(button);
  await waitFor(() => expect(assign).toHaveBeenCalledWith('https://login.example.com/end'));
  const [address, init] = fetch.mock.lastCall as [URL, RequestInit];
  expect([address.pathname, init.method]).toEqual(['/api/v1/session', 'DELETE']);
});
