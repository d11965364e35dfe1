// @vitest-environment jsdom
import '../../../dev/dom';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { vi } from 'vitest';
import { createFixture } from '../../../dev/schema';
import { StatedFacts } from './StatedFacts';

function renderFacts(node: string, otherwise?: string) {
  const fixture = createFixture();
  vi.stubGlobal('fetch', (url: URL, init: RequestInit) =>
    url.pathname.endsWith('/api/v1/session')
      ? Response.json({ scopes: ['read'], token: 'token-of-the-page' })
      : fixture.fetch(url, { ...init, signal: null }),
  );
  return render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <StatedFacts node={node} {...(otherwise && { otherwise })} />
    </QueryClientProvider>,
  );
}

test('texts of a producer are shown as texts, and only an address is a link', async () => {
  const user = userEvent.setup();
  const { container } = renderFacts('job:spark:report.execute_insert_into_hadoop_fs_relation_command.report');
  expect(await screen.findByText('no <img src=x onerror=alert(1)>')).toBeVisible();
  expect(container.querySelectorAll('img, a')).toHaveLength(0);
  expect(screen.getByText('javascript:alert(1)')).toBeVisible();
  expect(screen.getByText('at Report.main')).toBeVisible();
  expect(screen.queryByText(/SELECT 29/)).toBeNull();
  await user.click(screen.getByRole('button', { name: 'Show all 30 lines' }));
  expect(screen.getByText(/SELECT 29/)).toBeVisible();
  expect(screen.getByText('The producer stated more. This is the beginning.')).toBeVisible();
});

test('a node without facts has the sentence for it, or nothing', async () => {
  renderFacts('job:spark:clean', 'Its producer states neither.');
  expect(await screen.findByText('Its producer states neither.')).toBeVisible();
});
