// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

const platform = (name: string) => ({ id: `platform:${name}`, kind: 'PLATFORM', name, properties: {}, containers: [] });
const dataset = (name: string) => ({ id: `dataset:${name}`, kind: 'DATASET', name, properties: {}, containers: [] });

function world() {
  const asked = { lakeMap: [] as unknown[], find: [] as unknown[] };
  const lakeMap = (_: unknown, input: { lens: string; first: number; include: string[] }) => {
    asked.lakeMap.push(input);
    if (input.lens !== 'NAMESPACE') return { groups: [], flows: [], total: 0, members: 0, wide: 0 };
    return {
      groups: [
        { node: platform('raw'), members: 50_000, toRest: 3, fromRest: 0 },
        { node: platform('mart'), members: 2, toRest: 0, fromRest: 0 },
      ],
      flows: [{ src: 'platform:raw', dst: 'platform:mart', weight: 12 }],
      total: 300,
      members: 2_000_000,
      wide: 1,
    };
  };
  const find = (_: unknown, input: { text: string; first: number }) => {
    asked.find.push(input);
    const names = input.text ? ['raw:needle'] : ['raw:one', 'raw:two'];
    const hits = names.map((name) => ({ node: dataset(name), score: 0, matched: [] }));
    return { hits, total: input.text ? 1 : 50_000, counted: true, complete: true, cursor: null, facets: [] };
  };
  const memberFlows = () => ({ flows: [{ src: 'dataset:raw:one', dst: 'platform:mart', weight: 2 }], complete: false });
  return { asked, query: { lakeMap, find, memberFlows } };
}

const cards = () => screen.getByRole('navigation', { name: 'Lineage as a list' });

test('the whole lake is drawn without a dataset, and says how many groups it has', async () => {
  const { query } = world();
  renderPage('/?page=map', { query });
  expect(await screen.findByText('300 namespaces · 2,000,000 datasets')).toBeVisible();
  await waitFor(() => expect(cards()).toHaveTextContent('raw, 50,000 datasets. flows into mart, 2 datasets'));
  expect(cards()).toHaveTextContent('+ 298 other groups');
  expect(screen.getByText(/flows through 1 of the jobs/)).toBeVisible();
});

test('an open group shows its heaviest members, the number of others, and lower bounds', async () => {
  const { query, asked } = world();
  renderPage(`/?page=map&${new URLSearchParams({ group: '50 platform:raw' })}`, { query });
  await waitFor(() => expect(cards()).toHaveTextContent('+ 49,998 other datasets'));
  expect(cards()).toHaveTextContent('one, dataset');
  expect(await screen.findByText(/lower bounds/)).toBeVisible();
  expect(asked.find[0]).toMatchObject({ first: 50, order: 'WEIGHT', namespaces: ['raw'] });
});

test('a search in an open group draws what it finds', async () => {
  const user = userEvent.setup();
  const { query } = world();
  renderPage(`/?page=map&${new URLSearchParams({ group: '50 platform:raw' })}`, { query });
  await user.selectOptions(await screen.findByRole('combobox', { name: 'Search in' }), 'platform:raw');
  await user.type(screen.getByRole('searchbox', { name: 'Find in raw' }), 'need');
  await user.click(await screen.findByRole('button', { name: 'raw:needle' }));
  expect(new URLSearchParams(globalThis.location.search).getAll('member')).toEqual(['0 dataset:raw:needle']);
});

test('a lens without groups says so', async () => {
  const user = userEvent.setup();
  const { query } = world();
  renderPage('/?page=map', { query });
  await user.click(await screen.findByRole('radio', { name: 'Owners' }));
  expect(await screen.findByText('Nothing in the lake has an owner yet.')).toBeVisible();
  expect(globalThis.location.search).toContain('lens=owner');
});
