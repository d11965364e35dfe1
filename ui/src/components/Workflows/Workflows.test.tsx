// @vitest-environment jsdom
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { renderPage } from '../../../dev/renderPage';

/** Resolvers over one workflow that `runWorkflow` starts. */
function world() {
  const workflow = {
    name: 'news',
    appliedAt: '2026-02-01T00:00:00Z',
    isRunning: false,
    problem: null,
    channels: [
      {
        name: 'articles',
        path: '/d/articles',
        dataset: 'dataset:file:/d/articles',
        writer: null,
        currentBlocks: 3,
        lastBlock: 3,
      },
      {
        name: 'words',
        path: '/d/words',
        dataset: 'dataset:file:/d/words',
        writer: 'counting',
        currentBlocks: 2,
        lastBlock: 2,
      },
    ],
    tasks: [
      {
        name: 'counting',
        program: 'count_words',
        state: 'FAILED',
        startedAt: '2026-02-03T09:31:05Z',
        endedAt: '2026-02-03T09:31:07Z',
        error: 'count.py ended with exit code 7',
        inputs: [{ channel: 'articles', mode: 'NEW', cursor: 2, unread: 1 }],
        outputs: [{ channel: 'words', mode: 'DELTA', lastBlock: 2 }],
      },
    ],
    runs: [
      {
        id: 'r1',
        task: 'counting',
        state: 'COMPLETE',
        startedAt: '2026-02-02T09:31:05Z',
        endedAt: '2026-02-02T09:31:07Z',
        error: null,
        reads: [],
      },
    ],
  };
  return {
    query: {
      workflows: () => [workflow],
      workflow: (_: unknown, { name }: { name: string }) => (name === 'news' ? workflow : null),
    },
    mutation: { runWorkflow: () => Object.assign(workflow, { isRunning: true }) },
  };
}

test('the list leads to a workflow with its tasks, channels and runs', async () => {
  const user = userEvent.setup();
  renderPage('/', world());
  await user.click(await screen.findByRole('link', { name: 'Workflows' }));
  const list = await screen.findByRole('table', { name: 'Workflows' });
  expect(within(list).getAllByRole('row')[1]).toHaveTextContent(/^newsfailed1counting/);
  await user.click(within(list).getByRole('link', { name: 'news' }));
  const tasks = await screen.findByRole('table', { name: /^Tasks/ });
  expect(within(tasks).getAllByRole('row')[1]).toHaveTextContent(
    'countingcount_wordsfailedarticles (new): read to block 2, 1 unreadwords (delta): 2count.py ended with exit code 7',
  );
  const channels = screen.getByRole('table', { name: 'Channels' });
  expect(within(channels).getAllByRole('row')[1]).toHaveTextContent('articles/d/articlesfiles that arrive33');
  expect(screen.getByRole('table', { name: 'Runs, the latest first' })).toHaveTextContent('countingcomplete2.0 s');
  expect(screen.queryByRole('button', { name: 'Run' })).toBeNull();
});

test('a session that may run programs runs the workflow', async () => {
  const user = userEvent.setup();
  renderPage('/?page=workflows&item=news', { ...world(), scopes: ['read', 'replay'] });
  await user.click(await screen.findByRole('button', { name: 'Run' }));
  expect(await screen.findByText('running')).toBeVisible();
  expect(screen.getByRole('button', { name: 'Run' })).toBeDisabled();
});
