// @vitest-environment jsdom
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

const WRITING = ['read', 'replay'];
const CAUSE = {
  id: 'version 1',
  at: '2026-02-03T09:31:04Z',
  outcome: 'FIRED',
  reason: null,
  depth: 1,
  facts: [{ kind: 'version', subject: 'dataset:file:/demo/raw/weather.csv', at: '2026-02-03T09:31:00Z' }],
  execution: {
    id: 'e1',
    state: 'FAILED',
    attempts: 1,
    startedAt: '2026-02-03T09:31:05Z',
    endedAt: '2026-02-03T09:31:07Z',
    error: 'report.py has changed since it was registered.',
    result: null,
  },
};

/** Resolvers over one trigger that the mutations change. */
function world() {
  const trigger = {
    id: 't1',
    name: 'refresh-report',
    state: 'ACTIVE',
    reason: null as string | null,
    condition: 'when /demo/raw/weather.csv has a new version',
    action: 'replay (refresh) of the changed dataset',
    owner: 'the home',
    createdAt: '2026-02-01T00:00:00Z',
    lastFiredAt: null,
    definition: { name: 'refresh-report' },
    history: [CAUSE],
  };
  const triggers = new Map([[trigger.name, trigger]]);
  const created: unknown[] = [];
  const change = (state: string) => () => Object.assign(trigger, { state });
  return {
    created,
    query: {
      triggers: () => [...triggers.values()],
      trigger: (_: unknown, { name }: { name: string }) => triggers.get(name) ?? null,
      testTrigger: () => ({ causes: [{ ...CAUSE, execution: null }], entries: 12, notes: ['Entries were pruned.'] }),
    },
    mutation: {
      createTrigger: (_: unknown, { definition }: { definition: { name: string } }) => {
        created.push(definition);
        const fresh = { ...trigger, id: 't2', name: definition.name, history: [] };
        triggers.set(fresh.name, fresh);
        return fresh;
      },
      pauseTrigger: change('PAUSED'),
      resumeTrigger: change('ACTIVE'),
      fireTrigger: () => CAUSE,
      removeTrigger: () => {
        triggers.clear();
        return trigger;
      },
    },
  };
}

test('the list leads to a trigger with its causes and their outcomes', async () => {
  const user = userEvent.setup();
  renderPage('/', world());
  await user.click(await screen.findByRole('link', { name: 'Triggers' }));
  expect(screen.queryByRole('form', { name: 'Create a trigger' })).toBeNull();
  await user.click(await screen.findByRole('link', { name: 'refresh-report' }));
  const causes = await screen.findByRole('table', { name: 'Causes, the latest first' });
  const [, row] = within(causes).getAllByRole('row');
  expect(row).toHaveTextContent('2026-02-03 09:31:04 UTCversion of weather.csvfailedreport.py has changed');
  expect(row).toHaveTextContent('2.0 s');
  expect(screen.queryByRole('button', { name: /^(Pause|Fire|Test)/ })).toBeNull();
});

test('a trigger is paused and resumed, and removed with the second click', async () => {
  const user = userEvent.setup();
  renderPage('/?page=triggers&item=refresh-report', { ...world(), scopes: WRITING });
  await user.click(await screen.findByRole('button', { name: 'Pause' }));
  expect(await screen.findByText('paused')).toBeVisible();
  await user.click(screen.getByRole('button', { name: 'Resume' }));
  await user.click(await screen.findByRole('button', { name: /^Fire/ }));
  await user.click(screen.getByRole('button', { name: 'Confirm: fire this trigger' }));
  await user.click(screen.getByRole('button', { name: /^Remove/ }));
  await user.click(screen.getByRole('button', { name: /^Confirm: remove/ }));
  expect(await screen.findByText('There are no triggers yet.')).toBeVisible();
});

test('a test against history shows causes and notes', async () => {
  const user = userEvent.setup();
  renderPage('/?page=triggers&item=refresh-report', { ...world(), scopes: WRITING });
  await user.click(await screen.findByRole('button', { name: 'Test' }));
  expect(await screen.findByText('The trigger would have fired once.')).toBeVisible();
  expect(screen.getByText('Entries were pruned.')).toBeVisible();
  expect(screen.getByRole('table', { name: 'Causes of the test' })).toBeVisible();
});

test('the form creates a trigger from the parts of its condition and its action', async () => {
  const user = userEvent.setup();
  const { created, ...resolvers } = world();
  renderPage('/?page=triggers', { ...resolvers, scopes: WRITING });
  const form = await screen.findByRole('form', { name: 'Create a trigger' });
  const type = (name: string, text: string) => user.type(within(form).getByLabelText(name), text);
  await type('Name', 'nightly');
  await type('Dataset', '/demo/raw/weather.csv');
  await type('With new rows where', 'wind_speed > 1000');
  await type('Job', 'report');
  await user.click(within(form).getByRole('button', { name: 'Create the trigger' }));
  expect(await screen.findByRole('heading', { level: 1, name: 'nightly' })).toBeVisible();
  expect(created).toEqual([
    {
      name: 'nightly',
      when: { data: { dataset: '/demo/raw/weather.csv', where: 'wind_speed > 1000' } },
      do: { run: { job: 'report' } },
    },
  ]);
});

test.each([
  ['cron', [['Cron expression', '0 6 * * 1-5']], { time: { cron: '0 6 * * 1-5', missed: 'once' } }],
  ['every', [['Every', '15m']], { time: { every: '15m', missed: 'once' } }],
  ['failed_check', [['Dataset', '/a']], { data: { dataset: '/a', failed_check: true } }],
  ['all_of', [['Triggers', 'a, b']], { all_of: { of: ['a', 'b'] } }],
  ['manual', [], { manual: {} }],
] as const)('the condition %s becomes a definition', async (kind, fields, when) => {
  const user = userEvent.setup();
  const { created, ...resolvers } = world();
  renderPage('/?page=triggers', { ...resolvers, scopes: WRITING });
  const form = await screen.findByRole('form', { name: 'Create a trigger' });
  await user.type(within(form).getByLabelText('Name'), 'x');
  await user.type(within(form).getByLabelText('Pause after each cause'), '10m');
  await user.selectOptions(within(form).getByLabelText('When'), kind);
  await user.selectOptions(within(form).getByLabelText('Then'), 'notify');
  for (const [label, text] of fields) await user.type(within(form).getByLabelText(label), text);
  await user.type(within(form).getByLabelText('Target'), 'mail');
  await user.click(within(form).getByRole('button', { name: 'Create the trigger' }));
  await waitFor(() => expect(created).toHaveLength(1));
  expect(created[0]).toEqual({ name: 'x', when, do: { notify: { target: 'mail' } }, limits: { cool_down: '10m' } });
});
