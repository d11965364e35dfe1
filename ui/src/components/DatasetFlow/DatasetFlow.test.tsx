// @vitest-environment jsdom
/** The lineage of a dataset: its former links, its levels, and the names of its versions and runs. */
import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { GraphQLError } from 'graphql';
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

/** The answer to a view with one node. */
function viewOf(node: object) {
  const seen = { members: 1, distance: 0, focus: true, upstream: true, downstream: true, wholly: true };
  const totals = { nodes: 1, edges: 0, masked: 0, beyond: 0 };
  return { nodes: [{ node: { ...node, containers: [] }, ...seen }], edges: [], totals, notes: [] };
}

test('a menu offers no combination that the service refuses, and a level that is missing is no alert', async () => {
  const user = userEvent.setup();
  const refusal = new GraphQLError('This lineage has no stage.', {
    extensions: { code: 'InvalidQueryError', field: 'actors', hint: 'Its levels of actors are: system, job.' },
  });
  const view = (_: unknown, { view: asked }: { view: { data: string; actors: string } }) => {
    if (asked.data !== 'DATASET' || asked.actors !== 'JOB') throw refusal;
    return viewOf({ id: REPORT, kind: 'DATASET', name: '/demo/out/report' });
  };
  renderPage(`/?dataset=${REPORT}`, { query: { view } });
  const jobs = await screen.findByRole('combobox', { name: 'Jobs as' });
  await user.selectOptions(jobs, 'stages');
  expect(await screen.findByText('This lineage has no stage.')).toBeVisible();
  expect(screen.queryByRole('alert')).not.toBeInTheDocument();
  await user.selectOptions(screen.getByRole('combobox', { name: 'Data as' }), 'columns');
  expect(jobs).toHaveValue('JOB');
  for (const level of ['runs', 'stages', 'tasks', 'operators'])
    expect(within(jobs).getByRole('option', { name: level })).toBeDisabled();
  await user.click(await screen.findByRole('button', { name: 'Show datasets and jobs' }));
  await screen.findByRole('region', { name: 'Lineage graph' });
  expect(location.search).not.toContain('level=');
});

test('versions and runs are named by their time', async () => {
  const version = `version:file:/demo/out/report:9b1f3c52-0000-4000-8000-0000000abcde`;
  const node = { id: version, kind: 'VERSION', name: '9b1f3c52-0000-4000-8000-0000000abcde' };
  const timed = () => ({
    nodes: [{ ...node, properties: { writtenAt: '2026-02-03T09:31:04Z' } }],
    edges: [],
    truncated: 0,
  });
  renderPage(`/?dataset=${REPORT}&level=version&actors=run`, { query: { view: () => viewOf(node), lineage: timed } });
  expect(await screen.findByText('version 3 Feb, 09:31:04')).toBeInTheDocument();
});

const RUNS = ['1', '2', '3'].map((day) => ({ run: `run:${day}`, at: `2026-02-0${day}T09:00:00.000000Z` }));

/** The runs of a job as ticks, the second of them failed, beside the lineage. */
const timed = {
  runs: (_: unknown, { states }: { states?: string[] }) => ({
    nodes: RUNS.filter(({ run }) => !states || run === 'run:2').map(({ run }) => ({ id: run, kind: 'RUN', name: run })),
  }),
  lineage: (_: unknown, input: { kinds?: string[] }) =>
    input.kinds?.includes('CONTAINS')
      ? {
          nodes: [],
          edges: RUNS.map(({ run, at }) => ({
            src: JOB,
            dst: run,
            kind: 'CONTAINS',
            properties: {},
            first: at,
            last: `${at} x`,
          })),
          truncated: 0,
        }
      : lineage(input),
};

test('the time slider has one position for each run, names it, and keeps its ticks at an earlier time', async () => {
  const user = userEvent.setup();
  const asked: (string | undefined)[] = [];
  const view = (_: unknown, { view: input }: { view: { asOf?: string } }) => {
    asked.push(input.asOf);
    return viewOf({ id: REPORT, kind: 'DATASET', name: '/demo/out/report' });
  };
  renderPage(`/?dataset=${REPORT}&page=lineage`, { query: { ...timed, view } });
  await user.click(await screen.findByRole('button', { name: 'Show another time or changes' }));
  const slider = await screen.findByRole('slider', { name: 'Time of the drawing' });
  expect(slider).toHaveAttribute('max', '3');
  expect(slider).toHaveAttribute('aria-valuetext', 'now');
  fireEvent.change(slider, { target: { value: '1' } });
  expect(slider).toHaveAttribute('aria-valuetext', '2026-02-02 09:00:00 UTC, after a run of report that failed');
  await waitFor(() => expect(location.search).toContain('asOf=2026-02-02T09'));
  await waitFor(() => expect(asked).toContain('2026-02-02T09:00:00.000000Z'));
  expect(await screen.findByRole('slider', { name: 'Time of the drawing' })).toHaveAttribute('max', '3');
});

test('changes since an earlier run are drawn in place, in words, and counted', async () => {
  const user = userEvent.setup();
  const instants: string[][] = [];
  const node = (id: string, kind: string, name: string) => ({ id, kind, name, properties: {}, containers: [] });
  const members = ['report', 'rates'].map((name) => [name, name === 'report' ? REPORT : CURRENT] as const);
  const view = () => ({
    ...viewOf({ id: REPORT, kind: 'DATASET', name: '/demo/out/report' }),
    nodes: members.map(([name, id]) => ({
      node: node(id, 'DATASET', name),
      members: 1,
      distance: id === REPORT ? 0 : 1,
      focus: id === REPORT,
      upstream: true,
      downstream: true,
      wholly: true,
    })),
    edges: [{ src: CURRENT, dst: REPORT, weight: 1, direct: true, via: 0 }],
  });
  const viewDifference = (_: unknown, { before, after }: { before: string; after: string }) => {
    instants.push([before, after]);
    return {
      before,
      after,
      nodesAdded: [node(CURRENT, 'DATASET', 'rates')],
      nodesRemoved: [node(OLD, 'DATASET', 'old_rates')],
      edgesAdded: [{ src: CURRENT, dst: REPORT }],
      edgesRemoved: [{ src: OLD, dst: REPORT }],
      kept: 4,
      notes: ['At least 3 more nodes lie beyond the depth asked for, and are not compared.'],
    };
  };
  renderPage(`/?dataset=${REPORT}&page=lineage&asOf=2026-02-03T09:00:00.000000Z`, {
    query: { ...timed, view, viewDifference },
  });
  await user.click(await screen.findByRole('checkbox', { name: 'Changes since' }));
  expect(await screen.findByText(/1 node added, 1 node gone, 1 link added, 1 link gone, 4 links kept/)).toBeVisible();
  // The usual begin is the last run at least a day before.
  expect(instants).toEqual([['2026-02-02T09:00:00.000000Z', '2026-02-03T09:00:00.000000Z']]);
  const canvas = screen.getByRole('region', { name: 'Lineage graph' });
  expect(await within(canvas).findByText('added · dataset')).toBeVisible();
  expect(within(canvas).getByText('gone · dataset')).toBeVisible();
  expect(within(canvas).getByText('added since')).toBeVisible();
  expect(within(canvas).getByText('gone since')).toBeVisible();
  expect(screen.getAllByText(/^At least 3 more nodes lie beyond/)[0]).toBeVisible(); // paper has the note, too
  expect(location.search).toContain('since=2026-02-02');
});
