// @vitest-environment jsdom
/** A trace over time: the same record in another version, and the difference of both answers. */
import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { GraphQLError } from 'graphql';
import { renderPage, traceOf } from '../../../dev/renderPage';
import { createFixture } from '../../../dev/schema';

const VERSIONS = ['1', '2', '3'].map((day) => ({
  sequence: Number(day),
  run: `run:${day}`,
  writtenAt: `2026-02-0${day}T09:00:00Z`,
  mode: 'BASE',
  hasRecords: true,
}));
const blocks = () => ({ blocks: VERSIONS.toReversed(), total: 3, before: null });

interface Asked {
  where?: string | null;
  asOf?: string | null;
  rows?: object[] | null;
}

/** Answers traces by a predicate from the world's own trace of the first record, with other parts. */
async function worldTrace(asked: object) {
  const query = `query ($dataset: String!, $rows: [RowRef!], $column: String) { trace(dataset: $dataset, rows: $rows, column: $column, semantics: WITNESS) {
    semantics exact total elapsedMs recapturable incomplete { what reason effect }
    records { dataset datasetName file row line grain values } selected { dataset datasetName file row line grain values }
    path { job run output inputs operations records grain expressions { operator made { column expression } by } recaptured }
    graph { nodes { id kind name properties } edges { src dst kind properties } truncated } } }`;
  const response = await createFixture().fetch('http://x/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: asked }),
  });
  const { data } = (await response.json()) as { data: { trace: Record<string, unknown> } };
  return data.trace;
}

function resolvers(found: (asked: Asked) => object) {
  const seen: Asked[] = [];
  const trace = async (_: unknown, asked: Asked & { dataset: string; column?: string }) => {
    const { dataset, column, rows, where } = asked;
    const file = 'file:/demo/out/report/part-00000-c41d.csv';
    const answer = await worldTrace({ dataset, column, rows: rows ?? [{ file, row: 1 }] });
    if (!where) return answer;
    seen.push(asked);
    return { ...answer, ...found(asked) };
  };
  return { seen, query: { blocks, trace } };
}

test('the slider opens the record with the same key in another version, or says why it cannot', async () => {
  const user = userEvent.setup();
  const record = {
    dataset: 'd',
    datasetName: 'd',
    file: 'file:/old.csv',
    row: 7,
    line: 8,
    grain: 'RECORD',
    values: {},
  };
  const { seen, query } = resolvers(({ asOf }) => ({ selected: asOf === 'run:1' ? [record] : [] }));
  renderPage(traceOf(1, 'max_wind_mph', { version: 'run:3' }), { scopes: ['read', 'records'], query });
  const slider = await screen.findByRole('slider', { name: 'Version of the record' });
  expect(slider).toHaveAttribute('aria-valuetext', 'written 2026-02-03 09:00:00 UTC, the current version');
  fireEvent.change(slider, { target: { value: '1' } });
  expect(await screen.findByText(/^That version has no record with these values of origin, year, month/)).toBeVisible();
  expect(seen[0]?.where).toContain("origin = 'EWR' AND year = ");
  await user.click(screen.getByText('Same record by origin, year, month'));
  await user.click(screen.getByRole('checkbox', { name: 'year' }));
  expect(location.search).toContain('key=origin&key=month');
  fireEvent.change(screen.getByRole('slider', { name: 'Version of the record' }), { target: { value: '0' } });
  await waitFor(() => expect(location.search).toContain('version=run%3A1'));
  expect(location.search).toContain('row=7');
  expect(seen.at(-1)?.where).not.toContain('year');
});

test('a comparison names the value then and now, counts records, and marks the path', async () => {
  const { query } = resolvers(() => ({
    records: [],
    total: 0,
    path: [],
    asOf: { at: '2026-02-01T09:00:00Z', runs: [], isRead: false },
  }));
  renderPage(traceOf(1, 'max_wind_mph', { version: 'run:3', compare: 'run:1', semantics: 'witness' }), {
    scopes: ['read', 'records'],
    query,
  });
  const changes = await screen.findByRole('region', { name: 'Changes of the trace' });
  expect(changes).toHaveTextContent(
    'Since 2026-02-01 09:00:00 UTC: max_wind_mph is still 1048.36058. Records of the answer, compared by their values: 1 new, 0 gone, 0 unchanged.',
  );
  const canvas = screen.getByRole('region', { name: 'Lineage graph' });
  expect((await within(canvas).findAllByText(/^added · /)).length).toBeGreaterThan(0);
});

test('a version whose files are gone is not compared, with the reason', async () => {
  const { query } = resolvers(() => {
    throw new GraphQLError('report cannot be searched as of then: its files are gone');
  });
  renderPage(traceOf(1, 'max_wind_mph', { version: 'run:3', compare: 'run:1' }), {
    scopes: ['read', 'records'],
    query,
  });
  expect(await screen.findByText('The earlier version cannot be compared.')).toBeVisible();
  expect(screen.getByText('report cannot be searched as of then: its files are gone.')).toBeVisible();
});
