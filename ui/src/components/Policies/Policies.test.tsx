// @vitest-environment jsdom
/** Policies, their deviations, the flow of tags, and contracts. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

const EMAIL = 'column:s3:people:email';
const deviation = {
  id: 'd1',
  policy: 'lake',
  rule: 'no personal data in exports',
  severity: 'ERROR',
  owner: 'privacy',
  source: EMAIL,
  target: 'dataset:s3:letters',
  message: 'email reaches letters',
  path: [EMAIL, 'job:s:newsletter', 'dataset:s3:letters'],
  since: '2026-02-03T08:00:00Z',
  certain: false,
  state: 'OPEN',
  opened: '2026-02-03T08:00:00Z',
  fixed: null,
  reason: null,
  acceptedBy: null,
  acceptedUntil: null,
};

/** Resolvers over deviations that an acceptance changes. */
function world() {
  const kept = { ...deviation } as Record<string, unknown>;
  const policies: object[] = [];
  return {
    policies,
    query: {
      policies: () => policies,
      deviations: (_: unknown, { states }: { states: string[] }) =>
        [kept].filter(({ state }) => states.includes(`${state}`)),
      checkPolicy: () => ({ deviations: [{ ...deviation, state: null }], idle: [], cut: [], conflicts: [] }),
    },
    mutation: {
      acceptDeviation: (_: unknown, { reason }: { reason: string }) =>
        Object.assign(kept, { state: 'ACCEPTED', reason, acceptedBy: 'ann', acceptedUntil: '2026-05-04T00:00:00Z' }),
      applyPolicy: (_: unknown, { text }: { text: string }) => {
        policies.push({ name: 'lake', version: 1, author: 'ann', at: '2026-02-03T08:00:00Z', text });
        return { policy: policies.at(-1), report: { deviations: [], idle: [], cut: [], conflicts: [] } };
      },
    },
  };
}

test('a deviation has its path, and is accepted with a reason', async () => {
  const user = userEvent.setup();
  const { query, mutation } = world();
  renderPage('/?page=policies', { scopes: ['read', 'declare'], query, mutation });
  const row = await screen.findByRole('row', { name: /no personal data in exports/ });
  expect(within(row).getByRole('link', { name: 'email of people' })).toHaveAttribute(
    'href',
    expect.stringContaining('item=email'),
  );
  expect(row).toHaveTextContent('→ newsletter → letters (perhaps');
  await user.type(within(row).getByRole('textbox', { name: 'Reason to accept it' }), 'They asked for it{Enter}');
  expect(await screen.findByText('There are none.')).toBeVisible();
  await user.click(screen.getByRole('radio', { name: 'Accepted' }));
  expect(await screen.findByText('accepted by ann until 2026-05-04: They asked for it')).toBeVisible();
});

test('a session that only reads checks a policy, and applies none', async () => {
  const user = userEvent.setup();
  renderPage('/?page=policies', { query: world().query });
  const text = await screen.findByRole('textbox', { name: 'A policy as YAML' });
  await user.type(text, 'policy: lake');
  await user.click(screen.getByRole('button', { name: 'Check the present lineage' }));
  expect(await screen.findByText('1 deviation. Nothing is stored yet.')).toBeVisible();
  expect(screen.queryByRole('button', { name: 'Apply the policy' })).toBeNull();
  expect(screen.queryByRole('textbox', { name: 'Reason to accept it' })).toBeNull();
});

test('a checked policy is applied, and its text is listed', async () => {
  const user = userEvent.setup();
  const { query, mutation, policies } = world();
  renderPage('/?page=policies', { scopes: ['read', 'declare'], query, mutation });
  await user.type(await screen.findByRole('textbox', { name: 'A policy as YAML' }), 'policy: lake');
  await user.click(screen.getByRole('button', { name: 'Check the present lineage' }));
  await user.click(await screen.findByRole('button', { name: 'Apply the policy' }));
  expect(await screen.findByRole('table', { name: 'Applied policies' })).toHaveTextContent('lake');
  expect(policies).toEqual([expect.objectContaining({ text: 'policy: lake' })]);
});

test('the text of a contract in YAML is sent as it is, and a large file is refused', async () => {
  const user = userEvent.setup();
  const asked: object[] = [];
  const checkContract = (_: unknown, question: object) => {
    asked.push(question);
    return { name: 'orders', version: '1', status: 'active', ignored: [], clauses: [] };
  };
  renderPage('/?page=policies', { query: { ...world().query, checkContract } });
  const field = await screen.findByLabelText('A contract in YAML or JSON');
  await user.upload(field, new File([' '.repeat(300_000)], 'large.yaml'));
  await waitFor(() => expect(screen.getByRole('alert')).toHaveTextContent('large.yaml is larger than 256 kB'));
  await user.upload(field, new File(['kind: DataContract'], 'orders.yaml'));
  expect(await screen.findByText(/^orders 1 \(active\)/)).toBeVisible();
  expect(asked).toEqual([{ contract: 'kind: DataContract' }]);
});

test.each([
  ['Tag it', false, 'yes'],
  ['Refuse', true, 'refused'],
])('a tag that reaches a column is a proposal: %s', async (button, removed, state) => {
  const user = userEvent.setup();
  const letters = 'column:s3:letters:email';
  const reached = {
    node: letters,
    tag: 'pii',
    origin: EMAIL,
    originTag: 'pii',
    path: [],
    way: 'DIRECT',
    certain: true,
  };
  const kept = { state: 'PROPOSED' };
  const changes: object[] = [];
  renderPage('/?page=policies', {
    scopes: ['read', 'declare'],
    query: { ...world().query, carriedTags: () => ({ tags: [{ ...reached, ...kept }], total: 1, silent: [] }) },
    mutation: {
      describe: (_: unknown, change: object) => {
        changes.push(change);
        kept.state = removed ? 'REFUSED' : 'BORNE';
        return { owners: [] };
      },
    },
  });
  await user.type(await screen.findByRole('textbox', { name: 'Tag' }), 'pii{Enter}');
  await user.click(await screen.findByRole('button', { name: RegExp(`^${button}`) }));
  await waitFor(() => expect(screen.getByRole('row', { name: /email of letters/ })).toHaveTextContent(state));
  expect(changes).toEqual([{ node: letters, changes: [{ aspect: 'TAG', value: 'pii', removed }] }]);
  expect(screen.queryByRole('button', { name: RegExp(`^${button}`) })).toBeNull();
});
