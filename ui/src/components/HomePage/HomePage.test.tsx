// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

const COUNT = 250;

/** A lake with more datasets than a page of the list. One of ten has failed. */
function manyDatasets(_: unknown, asked: { text: string; states: string[]; first: number; after: string | null }) {
  const all = Array.from({ length: COUNT }, (_each, index) => `/lake/t${String(index).padStart(3, '0')}`);
  const found = asked.states.length ? all.filter((_name, index) => index % 10 === 0) : all;
  const begin = Number(asked.after ?? 0);
  const end = begin + asked.first;
  return {
    hits: found.slice(begin, end).map((name) => ({
      node: { id: `dataset:file:${name}`, kind: 'DATASET', name, properties: {}, containers: [] },
      score: 0,
      matched: [],
    })),
    total: found.length,
    counted: true,
    complete: true,
    cursor: end < found.length ? String(end) : null,
    facets: [
      {
        name: 'state',
        values: [
          { value: 'COMPLETE', count: 225 },
          { value: 'FAIL', count: 25 },
        ],
      },
    ],
  };
}

const links = () => screen.getAllByRole('link', { name: /lake/ });

test('every dataset can be reached, page by page', async () => {
  const user = userEvent.setup();
  renderPage('/', { query: { find: manyDatasets } });
  expect(await screen.findByText(/These are 100 of 250 datasets/)).toBeVisible();
  expect(links()).toHaveLength(100);
  await user.click(screen.getByRole('button', { name: 'Show more' }));
  await waitFor(() => expect(links()).toHaveLength(200));
  await user.click(screen.getByRole('button', { name: 'Show more' }));
  await waitFor(() => expect(links()).toHaveLength(COUNT));
  expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
});

test('a value of a facet narrows the list, and a second click removes it', async () => {
  const user = userEvent.setup();
  renderPage('/', { query: { find: manyDatasets } });
  const failed = await screen.findByRole('button', { name: /failed 25/ });
  await user.click(failed);
  await waitFor(() => expect(links()).toHaveLength(25));
  expect(screen.getByRole('button', { name: /failed 25/ })).toHaveAttribute('aria-pressed', 'true');
  await user.click(screen.getByRole('button', { name: /failed 25/ }));
  await waitFor(() => expect(links()).toHaveLength(100));
});

test('an address can contain the text of the search', async () => {
  renderPage('/?find=station_counts');
  expect(await screen.findByRole('searchbox')).toHaveValue('station_counts');
  expect(await screen.findByRole('link', { name: /^station_counts/ })).toBeVisible();
});
