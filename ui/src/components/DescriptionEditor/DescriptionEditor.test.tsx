// @vitest-environment jsdom
/** What people state on the page: descriptions of datasets and columns, and the glossary. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';
import { changesOf, faultOf } from '../../facts/statements';

const WRITING = { scopes: ['read', 'declare'] };

test('a reader without the right to declare sees no way to edit', async () => {
  renderPage(`/?dataset=${REPORT}&page=about`);
  await screen.findByRole('region', { name: 'Documentation' });
  expect(screen.queryByRole('button', { name: /^Edit/ })).toBeNull();
});

test('owners, tags, terms and the description are edited with the keyboard, and saved together', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(`/?dataset=${REPORT}&page=about`, WRITING);
  const edit = await screen.findByRole('button', { name: /^Edit what describes/ });
  edit.focus();
  await user.keyboard('{Enter}');
  const form = await screen.findByRole('form', { name: /^What describes/ });
  expect(form).toHaveFocus();
  await user.type(within(form).getByLabelText('Owners'), 'ann{Enter}bob{Enter}ann{Enter}');
  await user.type(within(form).getByLabelText('Owners'), '{Backspace}');
  await user.type(within(form).getByLabelText('Tags'), '<script>alert(1)</script>{Enter}');
  await user.type(within(form).getByLabelText('Terms'), 'Delay');
  await user.type(within(form).getByLabelText('Description'), 'All flights.');
  expect(within(form).getByRole('status')).toHaveTextContent('4 changes not saved');
  await user.click(within(form).getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(screen.queryByRole('form', { name: /^What describes/ })).toBeNull());
  expect(edit).toHaveFocus();
  const documentation = screen.getByRole('region', { name: 'Documentation' });
  await waitFor(() => expect(documentation).toHaveTextContent('All flights.'));
  expect(documentation).toHaveTextContent('<script>alert(1)</script>');
  const sent = fetch.mock.calls.map(([, init]) => init).find(({ body }) => String(body).includes('mutation Describe'));
  expect(new Headers(sent?.headers).get('x-headwater-token')).toBe('token-of-the-page');
  await user.click(within(documentation).getByText('Who stated this'));
  const authors = within(documentation).getByRole('table', { name: /^Statements/ });
  expect(within(authors).getAllByRole('row')[1]).toHaveTextContent(/ann.*owner.*ann.*2026-02-03.*counts/);
});

test('a refusal is shown in the form, and Escape returns to the button', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}&page=about`, WRITING);
  const edit = await screen.findByRole('button', { name: /^Edit what describes/ });
  await user.click(edit);
  const form = await screen.findByRole('form', { name: /^What describes/ });
  await user.type(within(form).getByLabelText('Owners'), 'refused{Enter}');
  await user.click(within(form).getByRole('button', { name: 'Save' }));
  expect(await within(form).findByRole('alert')).toHaveTextContent('This session may read, not declare.');
  await user.keyboard('{Escape}');
  expect(screen.queryByRole('form', { name: /^What describes/ })).toBeNull();
  expect(edit).toHaveFocus();
});

test('a name with an invisible character is refused at once', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}&page=about`, WRITING);
  await user.click(await screen.findByRole('button', { name: /^Edit what describes/ }));
  const field = await screen.findByLabelText('Tags');
  await user.click(field);
  await user.paste('gold\u202egnp');
  await user.keyboard('{Enter}');
  expect(screen.getByRole('alert')).toHaveTextContent('U+202E');
  expect(field).toHaveAccessibleDescription(/U\+202E/);
  expect(faultOf('مالك البيانات 👩‍🔬')).toBeUndefined();
});

test('a column is described below the table of columns', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}&page=columns`, WRITING);
  const [details] = await screen.findAllByRole('button', { name: /^Details of/ });
  await user.click(details as HTMLElement);
  await user.click(screen.getByRole('button', { name: /^Edit what describes the column/ }));
  await user.type(await screen.findByLabelText('Tags'), 'pii{Enter}');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  const table = screen.getByRole('table', { name: 'Columns in their order' });
  await waitFor(() => expect(table).toHaveTextContent('pii'));
});

test('the glossary shows the terms below one another, and finds them', async () => {
  const user = userEvent.setup();
  renderPage('/?page=glossary');
  const list = await screen.findByRole('list', { name: 'Terms' });
  expect(within(list).getAllByRole('listitem')[1]).toHaveTextContent('Departure delay in Delay');
  await user.type(screen.getByRole('searchbox', { name: 'Find a term' }), 'minutes');
  expect(within(list).getAllByRole('listitem')).toHaveLength(1);
});

test('changes remove and add what differs, and an empty description removes it', () => {
  const before = {
    owners: ['a', 'b'],
    stewards: [],
    tags: [],
    tagValues: [],
    terms: [],
    description: 'x',
    statements: [],
  };
  const after = { owners: ['b', 'c'], stewards: [], tags: [], terms: [], description: ' ' };
  expect(changesOf(before, after)).toEqual([
    { aspect: 'OWNER', value: 'a', removed: true },
    { aspect: 'OWNER', value: 'c', removed: false },
    { aspect: 'DESCRIPTION', value: '', removed: true },
  ]);
});
