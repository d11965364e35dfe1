// @vitest-environment jsdom
/** While an answer loads, the page never shows the words of the new question over the data of the old one. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage, traceOf } from '../../../dev/renderPage';

/** Hold back the answers to an operation until `release`. */
function holdAnswers(operation: string): { asked: Promise<void>; release: () => void } {
  const answer = globalThis.fetch as unknown as (url: URL, init: RequestInit) => Promise<Response>;
  let release = () => {};
  let ask = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  vi.stubGlobal('fetch', async (url: URL, init: RequestInit) => {
    if (String(init.body).includes(`query ${operation}(`)) {
      ask();
      await gate;
    }
    return answer(url, init);
  });
  return { asked, release };
}

test.each([
  ['Influence', /was influenced by 669 records/],
  ['Where to', /is needed for/],
])('after a click on “%s”, the page has no sentence until the answer is there', async (choice, sentence) => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  expect(await screen.findByRole('heading', { level: 1 })).toHaveTextContent('comes from 1 record');
  const { asked, release } = holdAnswers('Trace');
  await user.click(screen.getByRole('radio', { name: choice }));
  await asked;
  await waitFor(() => expect(screen.getByRole('status', { name: 'Tracing the record' })).toBeVisible());
  expect(screen.queryByRole('heading', { level: 1 })).toBeNull();
  expect(screen.queryByText('exact')).toBeNull();
  // The old records stay dimmed under their own headings.
  expect(screen.getByText('The records behind it').closest('[inert]')).toHaveAttribute('aria-busy', 'true');
  release();
  await waitFor(() => expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent(sentence));
  expect(screen.queryByRole('status', { name: 'Tracing the record' })).toBeNull();
});

test('the answer about one record never stays on the page of another record', async () => {
  renderPage(traceOf(1, 'max_wind_mph'));
  await screen.findByRole('heading', { level: 1 });
  const { asked, release } = holdAnswers('Trace');
  history.pushState(null, '', traceOf(2, 'max_wind_mph'));
  dispatchEvent(new PopStateEvent('popstate'));
  await asked;
  await waitFor(() => expect(screen.queryByText('The records behind it')).toBeNull());
  expect(screen.queryByRole('heading', { level: 1 })).toBeNull();
  release();
  expect(await screen.findByText('The records behind it')).toBeVisible();
});

test('a predicate never counts the rows of the predicate before', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  await screen.findByText('36 rows');
  const { asked, release } = holdAnswers('Rows');
  await user.type(screen.getByRole('textbox', { name: /Filter the rows/ }), 'month = 2{Enter}');
  await asked;
  await waitFor(() => expect(screen.queryByText(/36 rows/)).toBeNull());
  release();
  expect(await screen.findByText('3 rows that match')).toBeVisible();
});

test('an arrow of a column never shows an order that the rows do not have', async () => {
  const user = userEvent.setup();
  renderPage('/?dataset=dataset:file:/demo/raw/weather.csv');
  const head = await screen.findByRole('columnheader', { name: /^wind_speed/ });
  const { asked, release } = holdAnswers('Rows');
  await user.click(within(head).getByRole('button'));
  await asked;
  expect(head).not.toHaveAttribute('aria-sort');
  release();
  await waitFor(() => expect(head).toHaveAttribute('aria-sort', 'ascending'));
});

test('Enter opens the first dataset with the text in the field, even if its list loads late', async () => {
  const user = userEvent.setup();
  renderPage('/');
  await screen.findByRole('link', { name: /^report/ });
  const { asked, release } = holdAnswers('DatasetList');
  await user.type(screen.getByRole('searchbox'), 'station_counts{Enter}');
  await asked;
  expect(location.search).toBe('');
  release();
  expect(await screen.findByRole('heading', { level: 1, name: 'station_counts' })).toBeVisible();
});

test('the list never says that a text has no dataset before the answer is there', async () => {
  const user = userEvent.setup();
  renderPage('/');
  const field = await screen.findByRole('searchbox');
  await user.type(field, 'nothing like it');
  await screen.findByText(/No dataset is found for “nothing like it”/);
  const { asked, release } = holdAnswers('DatasetList');
  await user.clear(field);
  await user.type(field, 'report');
  await asked;
  expect(screen.queryByText(/No dataset is found/)).toBeNull();
  release();
  expect(await screen.findByRole('link', { name: /^report/ })).toBeVisible();
});
