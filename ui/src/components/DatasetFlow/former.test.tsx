// @vitest-environment jsdom
/** Links that a job has given up: not drawn by default, and marked when they are drawn. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';

const OLD = 'dataset:file:/demo/raw/old_rates.csv';
const CURRENT = 'dataset:file:/demo/raw/rates.csv';
const JOB = 'job:demo:report';
const nodes = [
  { id: OLD, kind: 'DATASET', name: '/demo/raw/old_rates.csv', properties: {} },
  { id: CURRENT, kind: 'DATASET', name: '/demo/raw/rates.csv', properties: {} },
  { id: JOB, kind: 'JOB', name: 'report', properties: {} },
  { id: REPORT, kind: 'DATASET', name: '/demo/out/report', properties: {} },
];
const edges = [
  { src: OLD, dst: JOB, kind: 'READS', former: true, properties: {} },
  { src: CURRENT, dst: JOB, kind: 'READS', former: false, properties: {} },
  { src: JOB, dst: REPORT, kind: 'WRITES', former: false, properties: {} },
];
const lineage = ({ kinds }: { kinds?: string[] }) => ({
  nodes,
  edges: edges.filter(({ kind }) => !kinds || kinds.includes(kind)),
  truncated: 0,
});

test('the drawing shows current lineage, says that it leaves former links out, and draws them on request', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`, {
    query: { lineage: (_: unknown, input: { kinds?: string[] }) => lineage(input) },
  });
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  expect(await within(canvas).findByRole('button', { name: /^rates\.csv/ })).toBeInTheDocument();
  expect(within(canvas).queryByRole('button', { name: /^old_rates\.csv/ })).not.toBeInTheDocument();
  expect(screen.getByText(/^1 former link at these cards is not drawn/)).toBeVisible();
  await user.click(screen.getByRole('button', { name: 'Show former links' }));
  expect(await within(canvas).findByRole('button', { name: /^old_rates\.csv/ })).toBeInTheDocument();
  expect(within(canvas).getByText('former, given up by its job')).toBeInTheDocument();
  expect(location.search).toContain('former=1');
  await user.click(screen.getByRole('button', { name: 'Hide former links' }));
  await waitFor(() =>
    expect(within(canvas).queryByRole('button', { name: /^old_rates\.csv/ })).not.toBeInTheDocument(),
  );
});
