// @vitest-environment jsdom
/** Notification rules of datasets and jobs. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';
import { definitionOf, isRuleOf, isSameRule } from '../../facts/rules';

/** Resolvers over triggers that the mutations change. */
function world() {
  const triggers: { id: string; name: string; definition: unknown; [part: string]: unknown }[] = [];
  return {
    triggers,
    query: { triggers: () => triggers },
    mutation: {
      createTrigger: (_: unknown, { definition }: { definition: { name: string } }) => {
        const { name } = definition;
        const parts = { id: name, state: 'ACTIVE', reason: null, condition: 'when it changes', owner: 'ann' };
        triggers.push({ ...parts, name, definition });
        return { name };
      },
      removeTrigger: () => triggers.pop(),
    },
  };
}

test('a session that may not start anything has no notifications', async () => {
  renderPage(`/?dataset=${REPORT}&page=about`);
  await screen.findByRole('region', { name: 'Documentation' });
  expect(screen.queryByRole('button', { name: 'Notify me' })).toBeNull();
});

test('a rule about stale data is made, listed and removed', async () => {
  const user = userEvent.setup();
  const { triggers, ...resolvers } = world();
  renderPage(`/?dataset=${REPORT}&page=about`, { scopes: ['read', 'replay'], ...resolvers });
  await user.click(await screen.findByRole('button', { name: 'Notify me' }));
  const panel = await screen.findByRole('region', { name: /^Notifications about/ });
  await within(panel).findByText(/^There is no notification/);
  await user.selectOptions(within(panel).getByLabelText('When'), 'it has had no new version for some hours');
  await user.clear(within(panel).getByLabelText('Hours'));
  await user.type(within(panel).getByLabelText('Hours'), '36');
  await user.click(within(panel).getByRole('button', { name: 'Add' }));
  await within(panel).findByText('team');
  expect(triggers[0]?.definition).toMatchObject({
    when: { stale: { dataset: REPORT, after: '36h' } },
    do: { notify: { target: 'team' } },
  });
  expect(triggers[0]?.name).toMatch(/^[\w.-]{1,64}$/);
  await user.click(within(panel).getByRole('button', { name: /^Remove/ }));
  await user.click(within(panel).getByRole('button', { name: /^Confirm/ }));
  await within(panel).findByText(/^There is no notification/);
  await user.keyboard('{Escape}');
  await waitFor(() => expect(screen.getByRole('button', { name: 'Notify me' })).toHaveFocus());
});

test('without targets the panel says who lists them', async () => {
  const user = userEvent.setup();
  const { triggers: _, ...resolvers } = world();
  const query = { ...resolvers.query, notificationTargets: () => [] };
  renderPage(`/?dataset=${REPORT}`, { scopes: ['read', 'replay'], ...resolvers, query });
  await user.click(await screen.findByRole('button', { name: 'Notify me' }));
  expect(await screen.findByText(/lists webhooks and mail addresses in targets.toml/)).toBeVisible();
});

test('a rule belongs to its dataset or job alone', () => {
  const choice = { kind: 'failed', hours: '1', target: 'team', suffix: 'x' };
  expect(definitionOf({ job: 'job:a:b' }, choice)).toEqual({
    name: 'notify-failed-x',
    when: { cascade: { job: 'job:a:b', state: 'failed' } },
    do: { notify: { target: 'team' } },
  });
  const stored = { when: { cascade: { jobs: ['job:a:b'], state: 'failed' } }, do: { notify: { target: 'team' } } };
  expect(isRuleOf({ job: 'job:a:b' }, stored)).toBe(true);
  expect(isSameRule(stored, definitionOf({ job: 'job:a:b' }, choice))).toBe(true);
  expect(isSameRule(stored, definitionOf({ job: 'job:a:b' }, { ...choice, kind: 'completed' }))).toBe(false);
  const stale = definitionOf({ dataset: 'dataset:a:b' }, { ...choice, kind: 'stale', hours: '24' });
  const seconds = { when: { stale: { dataset: 'dataset:a:b', after: 86_400 } }, do: stored.do };
  expect(isSameRule(seconds, stale)).toBe(true);
  expect(isRuleOf({ job: 'job:a:c' }, stored)).toBe(false);
  expect(isRuleOf({ job: 'job:a:b' }, { ...stored, do: { run: { job: 'x' } } })).toBe(false);
  expect(isRuleOf({ dataset: 'dataset:a:b' }, { when: { data: { dataset: 'dataset:a:b' } }, do: stored.do })).toBe(
    true,
  );
  expect(isRuleOf({ dataset: 'dataset:a:b' }, null)).toBe(false);
});
