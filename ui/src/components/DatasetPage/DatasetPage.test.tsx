// @vitest-environment jsdom
/** The tabs of a dataset: what is stated of it, the quality of its data, and its lineage. */
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';

const result = (day: number, values: object) => ({ run: `run:${day}`, at: `2026-02-0${day}T09:00:00Z`, values });

test('the tab About shows descriptions, storage, further facets as texts, and their producer', async () => {
  const facet = { _producer: 'https://tools.example.com/etl' };
  const node = {
    id: REPORT,
    kind: 'DATASET',
    name: '/demo/out/report',
    properties: {
      schema: { ...facet, fields: [{ name: 'origin', type: 'string' }] },
      storage: { ...facet, storageLayer: 'delta', fileFormat: 'parquet' },
      own_facet: { ...facet, note: '<img src=x onerror=alert(1)>' },
      'curated:note': { by: 'ann' },
    },
    descriptions: { owners: ['team:weather'], stewards: [], tags: ['pii'], tagValues: [], terms: ['Wind'] },
  };
  const { container } = renderPage(`/?dataset=${REPORT}&page=about`, { query: { node: () => node } });
  const storage = await screen.findByRole('region', { name: 'Storage' });
  expect(storage).toHaveTextContent('delta, parquet');
  expect(storage).toHaveTextContent('1 column, stated by https://tools.example.com/etl');
  expect(screen.getByRole('region', { name: 'Documentation' })).toHaveTextContent('team:weather');
  const facets = screen.getByRole('region', { name: 'Facets' });
  expect(facets).toHaveTextContent('<img src=x onerror=alert(1)>');
  expect(facets).not.toHaveTextContent('curated');
  expect(screen.getByRole('table', { name: 'Producers of the facets' })).toHaveTextContent(
    'own_facet, schema, storage',
  );
  expect(container.querySelector('img[onerror]')).toBeNull();
});

test('the tab Quality shows assertions with their results over time, and metrics as charts', async () => {
  const quality = [
    { id: 'a', assertion: 'unique', column: 'id', results: [result(1, { success: true })] },
    {
      id: 'b',
      assertion: 'not_null',
      column: 'id',
      results: [result(1, { success: true }), result(2, { success: false })],
    },
    {
      id: 'c',
      assertion: 'metrics',
      column: null,
      results: [result(1, { rowCount: 1200 }), result(2, { rowCount: 900 })],
    },
  ];
  renderPage(`/?dataset=${REPORT}&page=quality`, { query: { quality: () => quality } });
  expect(await screen.findByText('1 of 2 assertions failed in the last check.')).toBeVisible();
  const rows = within(screen.getByRole('table', { name: /^Assertions/ })).getAllByRole('row');
  expect(rows[1]).toHaveTextContent(/^not_null.*failed/);
  const failed = within(rows[1] as HTMLElement).getByRole('link', { name: '2026-02-02 09:00:00 UTC: failed' });
  expect(failed).toHaveTextContent('✕');
  expect(failed).toHaveAttribute('href', expect.stringContaining('item=run%3A2'));
  expect(screen.getByRole('img', { name: 'Rows in 2 runs: last 900, least 900, most 1,200' })).toBeVisible();
});

test('a dataset without results of quality says which facets state them', async () => {
  renderPage(`/?dataset=${REPORT}&page=quality`, { query: { quality: () => [] } });
  expect(await screen.findByText(/^No run stated an assertion about this dataset, and no metrics/)).toBeVisible();
});

test('the tab Lineage draws the lineage, and keeps the tab when the levels change', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}&page=lineage`);
  expect(await screen.findByRole('region', { name: 'Lineage graph' })).toBeVisible();
  await user.selectOptions(screen.getByRole('combobox', { name: 'Data as' }), 'versions');
  expect(location.search).toContain('page=lineage');
  expect(location.search).toContain('level=version');
});
