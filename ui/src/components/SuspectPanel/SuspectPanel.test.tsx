// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import { renderPage } from '../../../dev/renderPage';

const RUN = 'run:1';
const rows = {
  subject: RUN,
  metric: 'rows of /out/report',
  value: 333,
  expected: 1002,
  low: 1000,
  high: 1004,
  chance: 1e-9,
  compared: 19,
};
const task = {
  subject: 'task:c:7',
  metric: 'rows of a task of stage 1 of 1',
  value: 9000,
  expected: 100,
  low: 90,
  high: 120,
  chance: null,
  compared: 11,
};

function world(suspects: object[], compared = 9) {
  return {
    node: () => ({
      id: RUN,
      kind: 'RUN',
      name: 'report',
      properties: { state: 'COMPLETE' },
      containers: [],
      facts: {},
    }),
    lineage: () => ({ nodes: [], edges: [], truncated: 0 }),
    suspects: (_: unknown, { name }: { name: string }) => [
      { job: 'job:a:b', jobName: 'b', run: name, compared, metrics: 9, runs: 19, siblings: 0, suspects },
    ],
  };
}

test('the page of a run lists its unusual values and tasks', async () => {
  renderPage(`/?page=run&item=${RUN}`, { query: world([rows, task]) });
  expect(await screen.findByText('2 unusual values')).toBeVisible();
  const table = screen.getByRole('table', { name: /Unusual values/ });
  expect(within(table).getByText('−67 %')).toBeVisible();
  expect(within(table).getByText('rows of a task of stage 1 of 1 (c:7)')).toBeVisible();
  expect(within(table).getByText('far outside')).toBeVisible();
});

test('a healthy run says so, and a run without comparison says nothing', async () => {
  const { unmount } = renderPage(`/?page=run&item=${RUN}`, { query: world([]) });
  expect(await screen.findByText('Nothing is unusual about this run, compared with 19 earlier runs.')).toBeVisible();
  unmount();
  renderPage(`/?page=run&item=${RUN}`, { query: world([], 0) });
  expect(await screen.findByRole('heading', { name: 'Reads and writes' })).toBeVisible();
  expect(screen.queryByText(/Nothing is unusual/)).toBeNull();
});
