// @vitest-environment jsdom
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage, traceOf } from '../../../dev/renderPage';

const sentence = () => screen.findByRole('heading', { level: 1 });

test('without data the page shows the two commands', async () => {
  renderPage('/', { empty: true });
  expect(await screen.findByText('No lineage yet')).toBeVisible();
  expect(screen.getByText('headwater run mine.py')).toBeVisible();
  expect(screen.getByText('headwater demo')).toBeVisible();
});

test('each dataset has its pipeline, its last run and its health', async () => {
  renderPage('/');
  const report = await screen.findByRole('link', { name: /^report/ });
  const row = report.closest('tr');
  await waitFor(() => expect(row).toHaveTextContent('36'));
  expect(row).toHaveTextContent('record lineage');
  const counts = screen.getByRole('link', { name: /^station_counts/ }).closest('tr');
  expect(counts).toHaveTextContent('coarse lineage');
});

test('the keyboard is enough to find a dataset', async () => {
  const user = userEvent.setup();
  renderPage('/');
  await screen.findByRole('link', { name: /^report/ });
  await user.keyboard('/');
  await user.keyboard('report');
  await waitFor(() => expect(screen.getAllByRole('link', { name: /demo\/out/ })).toHaveLength(1));
  await user.keyboard('{Enter}');
  expect(await screen.findByRole('heading', { level: 1, name: 'report' })).toBeVisible();
  expect(location.search).toContain('report');
});

test('an error in a predicate is explained next to it', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  const field = await screen.findByRole('textbox', { name: /Filter the rows/ });
  await user.type(field, 'moth = 2{Enter}');
  const alert = await screen.findByRole('alert');
  expect(alert).toHaveTextContent('There is no column moth.');
  expect(alert).toHaveTextContent('The columns are origin');
});

test('the page of an unknown dataset names similar datasets', async () => {
  const user = userEvent.setup();
  renderPage('/?dataset=dataset:file:/demo/out/reprot');
  const alert = await screen.findByRole('alert');
  expect(alert).toHaveTextContent('No dataset is called dataset:file:/demo/out/reprot.');
  expect(alert).toHaveTextContent('Near are: /demo/out/report.');
  expect(screen.queryByRole('button', { name: 'Try again' })).toBeNull();
  expect(screen.queryByRole('textbox', { name: /Filter the rows/ })).toBeNull();
  await user.click(within(alert).getByRole('link', { name: 'All datasets' }));
  expect(await screen.findByRole('link', { name: /^report/ })).toBeVisible();
});

test('a click on a cell shows the origin of the value', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  await user.click(await screen.findByRole('gridcell', { name: '1048.36058' }));
  await waitFor(async () =>
    expect(await sentence()).toHaveTextContent(
      'max_wind_mph = 1048.36058 of line 3 in report comes from 1 record in weather.csv.',
    ),
  );
  expect(screen.getByText('exact')).toBeVisible();
  expect(screen.getByText('weather.csv, line 1011')).toBeVisible();
  expect(screen.getByText('max_wind_mph = max(wind_speed) by origin, year, month')).toBeVisible();
  expect(screen.getByText('(equals the traced value)').closest('dd')).toHaveTextContent('1048.36058');
});

test('one key switches to influence, and the address follows', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  await user.click(await screen.findByRole('radio', { name: 'Influence' }));
  await waitFor(async () =>
    expect(await sentence()).toHaveTextContent('was influenced by 669 records in weather.csv.'),
  );
  expect(location.search).toContain('semantics=influence');
  const table = screen.getByRole('region', { name: 'Records of weather.csv' });
  expect(within(table).getAllByRole('row')[1]).toHaveTextContent('1048.36058');
});

test('a trace can go to all sources', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph', { semantics: 'influence' }));
  await screen.findByRole('region', { name: 'Records of weather.csv' });
  await user.selectOptions(screen.getByRole('combobox', { name: 'Target dataset' }), 'all sources');
  await waitFor(async () =>
    expect(await sentence()).toHaveTextContent('was influenced by 1,069 records in 5 datasets.'),
  );
});

test('the page names coarse answers and their reason', async () => {
  renderPage(
    `/?${new URLSearchParams({ dataset: 'dataset:file:/demo/raw/weather.csv', file: 'f', row: '1009', column: 'wind_speed', direction: 'forward' })}`,
  );
  expect(await screen.findByText('not exact')).toBeVisible();
  expect(screen.getByRole('note')).toHaveTextContent('It is an RDD program');
  expect(screen.getAllByText('dataset grain').length).toBeGreaterThan(0);
});

test('a card opens to the columns of a dataset and to the operations of a job', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  await user.click(await screen.findByRole('button', { name: 'Show the columns of hourly_weather' }));
  const canvas = screen.getByRole('region', { name: 'Lineage graph' });
  expect(await within(canvas).findByText('day_wind')).toBeInTheDocument();
  await user.click(screen.getByRole('button', { name: 'Show the operations of report' }));
  expect(
    await within(canvas).findByText('Aggregate max(wind_speed) AS max_wind_mph by origin, year, month'),
  ).toBeInTheDocument();
  await user.click(screen.getByRole('button', { name: 'Hide the columns of hourly_weather' }));
  await waitFor(() => expect(within(canvas).queryByText('day_wind')).not.toBeInTheDocument());
});

test('the details of a job show the ledgers of its runs, and Escape closes them', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  await user.click(await within(canvas).findByRole('button', { name: /^report\s*job/ }));
  const panel = await screen.findByRole('complementary', { name: 'Details of report' });
  expect(await within(panel).findByText('every record')).toBeVisible();
  await user.keyboard('{Escape}');
  expect(screen.queryByRole('complementary')).not.toBeInTheDocument();
});

test('the page shows the command for its trace', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  await user.click(await screen.findByRole('button', { name: 'Command and link' }));
  expect(
    await screen.findByText(
      /^headwater trace \/demo\/out\/report --row \S+part-00000-c41d.csv:1 --as-of \S+ --column max_wind_mph --semantics witness --to \S+weather.csv$/,
    ),
  ).toBeVisible();
});

test('the address names the run that wrote the record, and the link with this run is asked as of that run', async () => {
  const first = renderPage(traceOf(1, 'max_wind_mph'));
  await sentence();
  await waitFor(() => expect(new URLSearchParams(location.search).get('version')).toMatch(/^run:/));
  const version = new URLSearchParams(location.search).get('version');
  expect(history.state).toBeNull();
  // The known answer is the answer of the new address, too.
  expect(asksOf(first.fetch, 'Trace')).toHaveLength(1);
  first.unmount();
  const { fetch } = renderPage(location.pathname + location.search);
  expect(await sentence()).toHaveTextContent('comes from 1 record');
  expect(asksOf(fetch, 'Trace')).toEqual([expect.objectContaining({ asOf: version })]);
  expect(screen.getByText('As of 2026-11-28 14:10:01 UTC.')).toBeVisible();
});

test('a trace is saved as CSV and as JSON, with its question and address', async () => {
  const user = userEvent.setup();
  const files: { name: string; blob: Blob }[] = [];
  Object.assign(URL, {
    createObjectURL: (blob: Blob) => files.push({ name: '', blob }) && 'blob:',
    revokeObjectURL: () => {},
  });
  renderPage(traceOf(1, 'max_wind_mph'));
  await sentence();
  for (const kind of [/^Records as CSV/, /^Answer as JSON/]) {
    const button = screen.getByRole('button', { name: 'Export' });
    await user.click(button);
    await user.click(screen.getByRole('button', { name: kind }));
    expect(button).toHaveFocus();
  }
  const [csv, json] = await Promise.all(files.map(({ blob }) => readText(blob)));
  expect(csv).toMatch(/^dataset,grain,file,row \(from 0\),line \(from 1\),/);
  expect(csv).toContain('1048.36058');
  const { at, address, question, answer } = JSON.parse(json ?? '');
  expect(Number.isNaN(Date.parse(at))).toBe(false);
  expect(address).toContain('column=max_wind_mph');
  expect(question).toMatchObject({ semantics: 'WITNESS', column: 'max_wind_mph' });
  expect(answer).toMatchObject({ exact: true, total: 1, incomplete: [] });
});

function readText(blob: Blob): Promise<string> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.readAsText(blob);
  });
}

/** The variables of all requests with a question. */
function asksOf(fetch: ReturnType<typeof renderPage>['fetch'], operation: string) {
  const calls = fetch.mock.calls.filter(([, init]) => String(init?.body).includes(`query ${operation}(`));
  return calls.map(([, init]) => JSON.parse(String(init?.body)).variables);
}

test('without an answer of the service the page shows what to do', async () => {
  renderPage('/');
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('refused')));
  history.replaceState(null, '', `/?dataset=${REPORT}`);
  dispatchEvent(new PopStateEvent('popstate'));
  const alerts = await screen.findAllByRole('alert');
  expect(alerts[0]).toHaveTextContent('The service does not answer.');
  expect(alerts[0]).toHaveTextContent('headwater serve');
});

test('an error in details is shown next to the graph', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  const job = await within(canvas).findByRole('button', { name: /^report\s*job/ });
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('refused')));
  await user.click(job);
  expect(await screen.findByRole('alert')).toHaveTextContent('The service does not answer.');
});

test('the lineage is drawn without jobs and at other levels, and the address follows', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  await user.click(await screen.findByRole('checkbox', { name: 'Hide jobs' }));
  expect(location.search).toContain('hide=kind%3Djob');
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  await user.click(await within(canvas).findByRole('button', { name: /^report\s*dataset/ }));
  const panel = await screen.findByRole('complementary', { name: 'Details of report' });
  await user.click(within(panel).getAllByRole('button', { name: 'via 1' })[0] as HTMLElement);
  expect(await within(panel).findByText(/^job report/)).toBeVisible();
  await user.selectOptions(screen.getByRole('combobox', { name: 'Data as' }), 'platforms');
  // The list of the graph for screen readers has the same words, and appears later.
  expect(await within(canvas).findByText(/platform · \d+ inside/)).toBeVisible();
  expect(location.search).toContain('level=platform');
  await user.click(screen.getByRole('button', { name: 'Show everything' }));
  expect(location.search).not.toContain('level');
  expect(await screen.findByRole('button', { name: 'Show the columns of report' })).toBeVisible();
});

test('a pattern hides names, and a click shows them again', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  await user.type(await screen.findByRole('textbox', { name: 'Hide names like' }), '*weather*{Enter}');
  const chip = await screen.findByRole('button', { name: 'Show again: name=*weather*' });
  await waitFor(() =>
    expect(screen.queryByRole('button', { name: /^hourly_weather\s*dataset/ })).not.toBeInTheDocument(),
  );
  await user.click(chip);
  expect(location.search).not.toContain('hide');
});

test('each change of the view is a step back in the history', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  const steps = history.length;
  await user.click(await screen.findByRole('checkbox', { name: 'Hide jobs' }));
  await user.selectOptions(screen.getByRole('combobox', { name: 'Data as' }), 'platforms');
  expect(history.length).toBe(steps + 2);
  history.back();
  await waitFor(() => expect(location.search).not.toContain('platform'));
  expect(location.search).toContain('hide=kind%3Djob');
});

test('a card shows the number of its hidden neighbours, and a click draws them', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  expect(within(canvas).queryByRole('button', { name: /^station_counts/ })).not.toBeInTheDocument();
  await user.click(await within(canvas).findByRole('button', { name: 'Draw 1 more after weather.csv' }));
  expect((await within(canvas).findAllByRole('button', { name: /^station_counts/ })).length).toBeGreaterThan(0);
  expect(new URLSearchParams(location.search).get('grown')).toBe('after dataset:file:/demo/raw/weather.csv');
  expect(within(canvas).queryByRole('button', { name: /more after weather.csv/ })).not.toBeInTheDocument();
});

test('rows that cannot be read are no empty table, and the page suggests no click', async () => {
  renderPage('/?dataset=dataset:file:/demo/raw/planes.csv');
  expect(await screen.findByText('The rows are not shown.')).toBeVisible();
  expect(screen.queryByRole('alert')).not.toBeInTheDocument();
  expect(screen.queryByRole('note')).not.toBeInTheDocument();
  expect(screen.getByText(/HEADWATER_DATA_ROOTS/)).toBeVisible();
  expect(screen.queryByText('0 rows')).not.toBeInTheDocument();
  expect(screen.queryByText(/Click a value/)).not.toBeInTheDocument();
  expect(screen.queryByRole('textbox', { name: /Filter the rows/ })).not.toBeInTheDocument();
});

test('all rows are sorted, and Back restores the order', async () => {
  const user = userEvent.setup();
  renderPage('/?dataset=dataset:file:/demo/raw/weather.csv');
  const head = await screen.findByRole('button', { name: /^wind_speed/ });
  await user.click(head);
  await user.click(screen.getByRole('button', { name: /^wind_speed/ }));
  const first = () => within(screen.getByRole('grid')).getAllByRole('row')[1];
  await waitFor(() => expect(first()).toHaveTextContent('1048.36058'));
  expect(first()).toHaveTextContent('1011');
  expect(location.search).toContain('sort=wind_speed&descending=1');
  history.back();
  await waitFor(() => expect(first()).not.toHaveTextContent('1048.36058'));
});
