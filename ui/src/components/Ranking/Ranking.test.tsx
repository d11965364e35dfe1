// @vitest-environment jsdom
/** The inputs of an aggregated value, by what each of them changes. */
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { GraphQLError } from 'graphql';
import { REPORT, renderPage, traceOf } from '../../../dev/renderPage';
import { JOBS } from '../../../dev/world';

const RUN = JOBS.find(({ outputId }) => outputId === REPORT)?.run;

function ranked(line: number, without: unknown, change: unknown, station: string) {
  const record = {
    dataset: 'dataset:file:/demo/raw/weather.csv',
    datasetName: '/demo/raw/weather.csv',
    file: 'file:/demo/raw/weather.csv',
    row: line - 2,
    line,
    grain: 'RECORD',
    values: { Change: station },
  };
  return { record, without, change, isRowGone: without === null };
}

function answer(more: object = {}) {
  const records = [ranked(9, null, null, 'b'), ranked(1011, 31.1, -1017.3, 'c'), ranked(7, 1048.36, 0, 'a')];
  const rest = { value: 1048.36, total: 669, exact: true, incomplete: [], notes: [] };
  return { run: RUN, function: 'max(wind_speed)', records, ...rest, ...more };
}

async function openRanks(rankInputs: (_: unknown, question: object) => object) {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'), { query: { rankInputs } });
  await user.click(await screen.findByRole('button', { name: 'Rank the inputs by what each changes' }));
  return user;
}

const lines = (table: HTMLElement) =>
  within(table)
    .getAllByRole('rowheader')
    .map(({ textContent }) => textContent);

test('the inputs are listed by their change, and a click on a title sorts them', async () => {
  const asked: object[] = [];
  const user = await openRanks((_, question) => {
    asked.push(question);
    return answer();
  });
  const table = await screen.findByRole('table', { name: /^Inputs of the value/ });
  expect(asked).toEqual([expect.objectContaining({ dataset: REPORT, column: 'max_wind_mph' })]);
  expect(screen.getByText(/The table has the 3 with the largest change/)).toBeVisible();
  expect(lines(table)).toEqual(['weather.csv, line 9', 'weather.csv, line 1011', 'weather.csv, line 7']);
  const title = within(table).getByRole('button', { name: 'Without it' });
  await user.click(title);
  expect(title.closest('th')).toHaveAttribute('aria-sort', 'ascending');
  expect(lines(table)).toEqual(['weather.csv, line 1011', 'weather.csv, line 7', 'weather.csv, line 9']);
  await user.click(title);
  expect(lines(table)).toEqual(['weather.csv, line 7', 'weather.csv, line 1011', 'weather.csv, line 9']);
  const [change, column] = within(table).getAllByRole('button', { name: 'Change' });
  await user.click(column ?? title);
  expect(lines(table)).toEqual(['weather.csv, line 7', 'weather.csv, line 9', 'weather.csv, line 1011']);
  expect(change?.closest('th')).toHaveAttribute('aria-sort', 'none');
});

test('a value that is no aggregate is refused with the reason', async () => {
  await openRanks(() => {
    throw new GraphQLError('The function first is not ranked.');
  });
  expect(await screen.findByText('The function first is not ranked.')).toBeVisible();
});

test('the inputs of another version are not shown', async () => {
  await openRanks(() => answer({ run: 'run:another' }));
  expect(await screen.findByText(/The row is that of an earlier version/)).toBeVisible();
  expect(screen.queryByRole('table', { name: /^Inputs of the value/ })).toBeNull();
});
