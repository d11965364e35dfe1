// @vitest-environment jsdom
/** The keyboard keeps its place: what closes or disappears never drops the focus to the body. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage, traceOf } from '../../../dev/renderPage';

test('Escape closes the details and returns the focus to the card', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  await user.click(await within(canvas).findByRole('button', { name: /^report\s*job/ }));
  await screen.findByRole('complementary', { name: 'Details of report' });
  await user.keyboard('{Escape}');
  expect(screen.queryByRole('complementary')).not.toBeInTheDocument();
  expect(document.activeElement).toHaveTextContent(/^report\s*job/);
});

test('the keyboard opens a link from its card, and Escape returns the focus to the card', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  (await within(canvas).findByRole('button', { name: /^report\s*job/ })).focus();
  await user.keyboard('{Enter}');
  const details = await screen.findByRole('complementary', { name: 'Details of report' });
  await waitFor(() => expect(details).toHaveFocus());
  within(details)
    .getByRole('button', { name: /^flows into/ })
    .focus();
  await user.keyboard('{Enter}');
  const link = await screen.findByRole('complementary', { name: /^Details of the link from report to/ });
  await waitFor(() => expect(link).toHaveFocus());
  await user.keyboard('{Escape}');
  expect(screen.queryByRole('complementary')).not.toBeInTheDocument();
  expect(document.activeElement).toHaveTextContent(/^report\s*job/);
});

test('Escape closes the list of a search and keeps the focus in the field', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  const field = await screen.findByRole('combobox', { name: /^Find a dataset, column/ });
  await user.click(field);
  await screen.findByRole('listbox', { name: 'Results' });
  await user.keyboard('{Escape}');
  expect(screen.queryByRole('listbox')).not.toBeInTheDocument();
  expect(field).toHaveFocus();
  await user.keyboard('r');
  expect(await screen.findByRole('listbox', { name: 'Results' })).toBeVisible();
});

test('Escape closes the link and returns the focus to its button', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  const button = await screen.findByRole('button', { name: 'Command and link' });
  await user.click(button);
  await user.keyboard('{Tab}{Escape}');
  expect(button).toHaveFocus();
});

test('a predicate keeps the focus in its field, also after it is cleared', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  const field = await screen.findByRole('textbox', { name: /Filter the rows/ });
  await user.type(field, 'month = 2{Enter}');
  await screen.findByText('3 rows that match');
  expect(field).toHaveFocus();
  await user.click(screen.getByRole('button', { name: 'Clear' }));
  await waitFor(() => expect(screen.queryByText(/that match/)).toBeNull());
  expect(field).toHaveFocus();
  expect(field).toHaveValue('');
  history.back();
  await waitFor(() => expect(field).toHaveValue('month = 2'));
});

test('a button that disappears gives the focus to its table', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph', { semantics: 'influence' }));
  const table = await screen.findByRole('region', { name: 'Records of weather.csv' });
  await user.click(within(table).getByRole('button', { name: /^Show \d+ more/ }));
  expect(table).toHaveFocus();
});

test('another page takes the focus to its content', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  const cell = await screen.findByRole('gridcell', { name: '1048.36058' });
  cell.focus();
  await user.keyboard('{Enter}');
  await screen.findByText('The records behind it');
  expect(screen.getByRole('main')).toHaveFocus();
});
