// @vitest-environment jsdom
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage, traceOf } from '../../../dev/renderPage';

const WRITING = { scopes: ['read', 'replay'] };
const REPLAY_TAB = `/?${new URLSearchParams({ dataset: REPORT, page: 'replay' })}`;

/** The variables of the only request with an operation. */
function variablesOf(fetch: ReturnType<typeof renderPage>['fetch'], operation: string) {
  const calls = fetch.mock.calls.filter(([, init]) => String(init?.body).includes(`mutation ${operation}`));
  expect(calls).toHaveLength(1);
  expect(calls[0]?.[1].headers).toMatchObject({ 'x-headwater-token': 'token-of-the-page' });
  return JSON.parse(String(calls[0]?.[1].body)).variables;
}

test('a finished replay shows changed rows before and after, and a session that only reads has no actions', async () => {
  const user = userEvent.setup();
  renderPage('/');
  await user.click(await screen.findByRole('link', { name: 'Replays' }));
  const list = await screen.findByRole('table', { name: 'Replays, the latest first' });
  expect(within(list).getAllByRole('row')[1]).toHaveTextContent(
    'completeWithout recordsreportwithout row 1,009 of weather.csvclean → hourly_weather → report35.0 s',
  );
  await user.click(within(list).getByRole('link'));
  const rows = within(await screen.findByRole('table', { name: 'A row of report, before and after' })).getAllByRole(
    'row',
  );
  expect(rows[2]).toHaveTextContent('max_wind_mph1048.3605836.8247');
  expect(screen.queryByRole('button', { name: /remove|run again/i })).toBeNull();
});

test('a traced record is left out with one click, and the page shows the progress', async () => {
  const user = userEvent.setup();
  const { fetch, proceed } = renderPage(traceOf(1, 'max_wind_mph'), WRITING);
  await user.click(await screen.findByRole('button', { name: 'Run again without this record' }));
  const progress = await screen.findByRole('status', { name: 'Progress' });
  expect(within(progress).getAllByRole('listitem')).toHaveLength(3);
  // The reader stays at the record, and the replay says which record it leaves out.
  expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('max_wind_mph = 1048.36058');
  expect(screen.getByRole('list', { name: 'Selected records' })).toHaveTextContent('without row 1,009 of weather.csv');
  expect(screen.getByRole('button', { name: 'Cancel this replay' })).toBeVisible();
  expect(location.search).toContain('replay=');
  proceed();
  expect(await screen.findByRole('heading', { name: 'Before and after' })).toBeVisible();
  await user.click(screen.getByRole('link', { name: 'Close' }));
  expect(await screen.findByRole('button', { name: 'Run again without this record' })).toBeVisible();
  expect(variablesOf(fetch, 'StartReplay')).toMatchObject({
    kind: 'EXCLUSIVE',
    output: REPORT,
    dataset: 'dataset:file:/demo/raw/weather.csv',
    rows: [{ row: expect.any(Number) }],
  });
});

test('a session that only reads has no button and no tab for a replay', async () => {
  renderPage(traceOf(1, 'max_wind_mph'));
  expect(await screen.findByRole('region', { name: 'Lineage graph' })).toBeVisible();
  expect(screen.queryByRole('button', { name: /^Run again/ })).toBeNull();
});

test('the address of the form explains the missing scope', async () => {
  renderPage(REPLAY_TAB);
  expect(await screen.findByText('This session may not open “Run again”.')).toBeVisible();
  expect(screen.getByText(/--write-link/)).toBeVisible();
  expect(screen.queryByRole('link', { name: 'Run again' })).toBeNull();
});

test('verify needs no further field', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(`/?dataset=${REPORT}`, WRITING);
  await user.click(await screen.findByRole('link', { name: 'Run again' }));
  await user.click(await screen.findByRole('button', { name: 'Start the replay' }));
  expect(await screen.findByRole('status', { name: 'Progress' })).toBeVisible();
  const none = { dataset: null, where: null, rows: null, edits: null };
  expect(variablesOf(fetch, 'StartReplay')).toEqual({ kind: 'VERIFY', output: REPORT, ...none });
});

test('the dependents of a dataset are refreshed without an output', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(REPLAY_TAB, WRITING);
  await user.click(await screen.findByRole('radio', { name: 'Refresh dependents' }));
  await user.click(screen.getByRole('button', { name: 'Start the replay' }));
  await screen.findByRole('status', { name: 'Progress' });
  expect(variablesOf(fetch, 'StartReplay')).toMatchObject({ kind: 'REFRESH', output: null, dataset: REPORT });
});

test('what-if sends the source, the predicate and the new values', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(REPLAY_TAB, WRITING);
  const form = await screen.findByRole('form', { name: 'Run again' });
  await user.click(within(form).getByRole('radio', { name: 'What if' }));
  expect(within(form).getByRole('status')).toHaveTextContent('new values in the selected records');
  await within(form).findByRole('option', { name: 'weather.csv' });
  await user.selectOptions(within(form).getByRole('combobox', { name: 'Source' }), 'weather.csv');
  await user.type(within(form).getByRole('textbox', { name: /where/ }), 'wind_speed > 1000');
  await user.type(within(form).getByRole('combobox', { name: 'Column' }), 'wind_speed');
  await user.type(within(form).getByRole('textbox', { name: 'Value' }), '9.8');
  await user.click(within(form).getByRole('button', { name: 'Another column' }));
  const second = within(form).getByRole('group', { name: 'New value 2' });
  await user.type(within(second).getByRole('combobox', { name: 'Column' }), 'precip');
  await user.click(within(second).getByRole('checkbox', { name: 'NULL' }));
  await user.click(within(form).getByRole('button', { name: 'Start the replay' }));
  await screen.findByRole('status', { name: 'Progress' });
  expect(variablesOf(fetch, 'StartReplay')).toEqual({
    kind: 'WHAT_IF',
    output: REPORT,
    dataset: 'dataset:file:/demo/raw/weather.csv',
    where: 'wind_speed > 1000',
    rows: null,
    edits: [
      { column: 'wind_speed', value: '9.8' },
      { column: 'precip', value: null },
    ],
  });
});

test('the traced records are the records of the other kinds', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(traceOf(1, 'max_wind_mph'), WRITING);
  await user.click(await screen.findByRole('button', { name: 'Other replays' }));
  const form = screen.getByRole('form', { name: 'Run again' });
  expect(within(form).getByText('Selected: 1 record')).toBeVisible();
  await user.click(within(form).getByRole('radio', { name: 'Selected rows' }));
  await user.click(within(form).getByRole('button', { name: 'Start the replay' }));
  await screen.findByRole('status', { name: 'Progress' });
  const variables = variablesOf(fetch, 'StartReplay');
  expect(variables).toMatchObject({ kind: 'SELECTIVE', output: REPORT, dataset: null, where: null });
  expect(variables.rows).toEqual([{ file: expect.stringContaining('/demo/out/report/'), row: 1 }]);
});

test('a replay is removed with the second click', async () => {
  const user = userEvent.setup();
  renderPage('/?page=replays&item=20260203093104', WRITING);
  await user.click(await screen.findByRole('button', { name: /^Remove/ }));
  await user.click(screen.getByRole('button', { name: /^Confirm: remove/ }));
  expect(await screen.findByText('There are no replays yet.')).toBeVisible();
});

test('a dry run shows programs, records, time and disk space, and a change of the form hides it', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(REPLAY_TAB, WRITING);
  const form = await screen.findByRole('form', { name: 'Run again' });
  await user.click(within(form).getByRole('button', { name: 'Dry run' }));
  const summary = await within(form).findByRole('region', { name: 'Dry run' });
  expect(summary).toHaveTextContent('about 33.0 s · 250 kB of disk space, 9.0 GB free');
  const programs = within(summary).getByRole('table', { name: 'Programs of the replay, in order' });
  expect(within(programs).getAllByRole('row')[1]).toHaveTextContent('cleanclean.pyclean11.0 s');
  expect(fetch.mock.calls.some(([, init]) => String(init?.body).includes('mutation StartReplay'))).toBe(false);
  await user.click(within(form).getByRole('radio', { name: 'Refresh' }));
  expect(within(form).queryByRole('region', { name: 'Dry run' })).toBeNull();
});

test('a commit takes two clicks and can be undone', async () => {
  const user = userEvent.setup();
  renderPage('/?page=replays&item=20260203093104', WRITING);
  await user.click(await screen.findByRole('button', { name: /^Commit/ }));
  await user.click(screen.getByRole('button', { name: /^Confirm: commit/ }));
  expect(await screen.findByText(/the result is in the place of the real data/)).toBeVisible();
  expect(screen.queryByRole('button', { name: /^Remove/ })).toBeNull();
  await user.click(screen.getByRole('button', { name: /^Undo the commit/ }));
  await user.click(screen.getByRole('button', { name: /^Confirm: undo/ }));
  expect(await screen.findByText(/the old data is restored/)).toBeVisible();
  expect(screen.queryByRole('button', { name: /^Commit/ })).toBeNull();
});

test('a running replay is cancelled with the second click', async () => {
  const user = userEvent.setup();
  const running = {
    id: 'r1',
    state: 'RUNNING',
    kind: 'VERIFY',
    records: [],
    output: REPORT,
    startedAt: '2026-02-03T09:31:04Z',
    shadow: '/shadow',
    error: null as string | null,
    steps: [{ job: 'report', state: 'RUNNING' }],
    notes: [],
    differing: 0,
    differences: [],
  };
  const cancelReplay = () => Object.assign(running, { state: 'FAILED', error: 'The replay was cancelled.' });
  renderPage('/?page=replays&item=r1', { ...WRITING, query: { replay: () => running }, mutation: { cancelReplay } });
  await user.click(await screen.findByRole('button', { name: /^Cancel/ }));
  await user.click(screen.getByRole('button', { name: /^Confirm: cancel/ }));
  expect(await screen.findByText('The replay was cancelled.')).toBeVisible();
  expect(screen.queryByRole('button', { name: /^(Cancel|Commit)/ })).toBeNull();
});

test('a session that only reads sees a result without actions', async () => {
  renderPage('/?page=replays&item=20260203093104');
  expect(await screen.findByText('1 row differs.')).toBeVisible();
  expect(screen.queryByRole('button', { name: /^(Commit|Approve|Remove)/ })).toBeNull();
});

test('a stop shows the records, and a record is dropped, edited, and the replay continues', async () => {
  const user = userEvent.setup();
  const values = { id: 3, v: 4 };
  const stopped = {
    id: 'r2',
    state: 'RUNNING',
    kind: 'STEP',
    records: [],
    output: REPORT,
    startedAt: '2026-02-03T09:31:04Z',
    shadow: '/shadow',
    error: null,
    steps: [{ job: 'report', state: 'QUEUED' }],
    notes: [],
    differing: 0,
    differences: [],
    stop: {
      job: 'report',
      inputs: [
        { dataset: 'dataset:file:/demo/raw', note: null, rows: [{ file: 'file:/demo/raw/a.csv', row: 2, values }] },
      ],
      outputs: [{ dataset: 'dataset:file:/demo/clean', note: 'Its records cannot be shown.', rows: [] }],
    } as object | null,
  };
  const answers: unknown[] = [];
  const answerReplay = (_: unknown, given: { action: string }) => {
    answers.push(given);
    return Object.assign(stopped, given.action === 'CONTINUE' ? { stop: null } : {});
  };
  renderPage('/?page=replays&item=r2', { ...WRITING, query: { replay: () => stopped }, mutation: { answerReplay } });
  expect(await screen.findByRole('heading', { name: 'Stopped before report' })).toBeVisible();
  expect(within(screen.getByRole('table', { name: 'Records of raw' })).getAllByRole('row')[1]).toHaveTextContent('34');
  expect(screen.getByText('Its records cannot be shown.')).toBeVisible();
  await user.click(screen.getByRole('button', { name: 'Drop row 2 of a.csv' }));
  await user.click(await screen.findByRole('button', { name: 'Edit row 2 of a.csv' }));
  await user.selectOptions(screen.getByRole('combobox', { name: 'Column' }), 'v');
  await user.type(screen.getByRole('textbox', { name: 'New value' }), '50');
  await user.click(screen.getByRole('button', { name: 'Set' }));
  await user.click(await screen.findByRole('button', { name: 'Continue' }));
  await waitFor(() => expect(screen.queryByRole('heading', { name: /^Stopped before/ })).toBeNull());
  const place = { id: 'r2', file: 'file:/demo/raw/a.csv', row: 2 };
  expect(answers).toMatchObject([
    { ...place, action: 'DROP' },
    { ...place, action: 'EDIT', edits: [{ column: 'v', value: '50' }] },
    { id: 'r2', action: 'CONTINUE' },
  ]);
});
