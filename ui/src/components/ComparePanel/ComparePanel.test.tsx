// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';
import { searchWorld } from '../../../dev/searches';

const [RUN, OTHER, FAILED] = ['run:2', 'run:1', 'run:0'];
const JOB = { id: 'job:default:nightly', kind: 'JOB', name: 'nightly', properties: {}, facts: {} };
const REPORT = 'dataset:file:/demo/out/report';
const difference = { dataset: REPORT, before: { k: 'a', v: 1 }, after: { k: 'a', v: 10 }, columns: ['v'] };
const result = { dataset: REPORT, rows: 2, isRebuilt: false, reason: null, differences: [difference] };
const causes = [
  { kind: 'INPUTS', verdict: 'VERIFIED', changes: ['1 file added'], rows: 2, isWhole: true, reason: null },
  { kind: 'CODE', verdict: 'STATED', changes: [], rows: null, isWhole: false, reason: 'the old script is not found' },
];

function world(more: object = {}) {
  const comparison = { first: OTHER, second: RUN, results: [result], causes, together: true, notes: [], ...more };
  const made = searchWorld('startCompare', {
    kind: 'COMPARE',
    subject: RUN,
    result: { comparison },
    progress: { doing: 'running B with the inputs of A' },
  });
  const runOf = (id: string, state: string, startedAt: string) => ({
    id,
    kind: 'RUN',
    name: 'nightly',
    properties: { state, startedAt },
    containers: [JOB],
    facts: {},
    ledger: null,
  });
  const runs = [
    runOf(RUN, 'COMPLETE', '2026-02-03T09:00:00Z'),
    runOf(OTHER, 'COMPLETE', '2026-02-02T09:00:00Z'),
    runOf(FAILED, 'FAIL', '2026-02-01T09:00:00Z'),
  ];
  const query = {
    ...made.query,
    node: () => runs[0],
    lineage: () => ({ nodes: [], edges: [], truncated: 0 }),
    runs: () => ({ nodes: runs, cursor: null }),
  };
  return { ...made, query };
}

async function compare(more: object = {}) {
  const user = userEvent.setup();
  const { asked, end, ...options } = world(more);
  renderPage(`/?page=run&item=${RUN}`, options);
  const choice = await screen.findByRole('combobox', { name: 'Compare with the run of' });
  await within(choice).findByRole('option');
  return { user, asked, end, choice };
}

test('a run is compared with another complete run, and the causes are listed', async () => {
  const { user, asked, end, choice } = await compare();
  expect(within(choice).getAllByRole('option')).toHaveLength(1);
  await user.click(screen.getByRole('button', { name: 'Compare the runs' }));
  expect(await screen.findByText('Now: running B with the inputs of A.')).toBeVisible();
  expect(asked).toEqual([expect.objectContaining({ first: OTHER, second: RUN, replays: true })]);
  end();
  const table = await screen.findByRole('table', { name: 'Possible causes' }, { timeout: 5000 });
  expect(within(table).getByText('changes the result, and explains all of it')).toBeVisible();
  expect(within(table).getByText('the old script is not found')).toBeVisible();
  expect(screen.getByText(/2 rows of .*report differ/)).toBeVisible();
  expect(screen.getByText(/All changes together give the result/)).toBeVisible();
});

test('what is not known is said', async () => {
  const unknown = { ...result, rows: null, isRebuilt: true, reason: 'the data is gone', differences: [] };
  const { user, asked, end } = await compare({ results: [unknown], together: null, notes: ['a note'] });
  await user.click(screen.getByRole('checkbox', { name: 'Run nothing, state the changes only' }));
  await user.click(screen.getByRole('button', { name: 'Compare the runs' }));
  await screen.findByRole('button', { name: 'Cancel the search' });
  expect(asked).toEqual([expect.objectContaining({ replays: false })]);
  end();
  expect(await screen.findByText(/differs is not known: the data is gone/, undefined, { timeout: 5000 })).toBeVisible();
  expect(screen.queryByText(/All changes together/)).toBeNull();
  expect(screen.getByText('a note')).toBeVisible();
});

test('a cancelled comparison says so', async () => {
  const { user } = await compare();
  await user.click(screen.getByRole('button', { name: 'Compare the runs' }));
  await user.click(await screen.findByRole('button', { name: 'Cancel the search' }));
  expect(await screen.findByText('The search was cancelled.')).toBeVisible();
});

test('a run without another complete run cannot be compared', async () => {
  const { query, ...options } = world();
  const runs = () => ({ nodes: query.runs().nodes.filter(({ id }) => id !== OTHER), cursor: null });
  renderPage(`/?page=run&item=${RUN}`, { ...options, query: { ...query, runs } });
  expect(await screen.findByRole('heading', { name: 'Reads and writes' })).toBeVisible();
  expect(screen.queryByRole('form', { name: 'What changed?' })).toBeNull();
});
