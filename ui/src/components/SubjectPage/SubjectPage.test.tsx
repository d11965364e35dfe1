// @vitest-environment jsdom
/** All records that derive from those of a person. */
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';

const holder = { records: 2, former: 0, complete: true, exact: true, coarse: false, reasons: [] };

test('every dataset downstream is listed with its records and their certainty', async () => {
  const user = userEvent.setup();
  const asked: object[] = [];
  const subjectAccess = (_: unknown, question: object) => {
    asked.push(question);
    return {
      exact: false,
      complete: false,
      datasets: [
        { ...holder, dataset: 'dataset:s3:clean' },
        { ...holder, dataset: 'dataset:s3:mart', records: 0, former: 1, complete: false, reasons: ['A file is new.'] },
        { ...holder, dataset: 'dataset:s3:sums', records: 0, coarse: true },
      ],
      records: [],
      total: 2,
      selected: [{ dataset: REPORT, datasetName: 'report', file: 'f', row: 0, line: 1, grain: 'RECORD', values: {} }],
      path: [],
      incomplete: [],
      notes: ['Values in the memory of a program are not followed.'],
    };
  };
  renderPage(`/?dataset=${REPORT}&page=person`, { query: { subjectAccess } });
  await user.type(await screen.findByRole('textbox', { name: 'The records are those where' }), 'id = 42{Enter}');
  expect(await screen.findByText(/^1 record here fit. 2 records in 2 datasets derive/)).toBeVisible();
  expect(asked).toEqual([expect.objectContaining({ where: 'id = 42', dataset: REPORT })]);
  expect(screen.getByText('records may be missing', { selector: 'span' })).toBeVisible();
  const table = screen.getByRole('table', { name: 'Datasets downstream' });
  expect(within(table).getByRole('row', { name: /^clean/ })).toHaveTextContent('exactly these');
  expect(within(table).getByRole('row', { name: /^mart/ })).toHaveTextContent('01records may be missingA file is new.');
  expect(within(table).getByRole('row', { name: /^sums/ })).toHaveTextContent('any0known by dataset only');
  expect(location.search).toContain('where=id');
});
