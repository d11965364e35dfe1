import './dom';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render } from '@testing-library/react';
import { vi } from 'vitest';
import { App } from '../src/components/App/App';
import { createFixture } from './schema';

/**
 * The complete page at an address, over the GraphQL of the development world. `query` adds resolvers, for a new page. Nothing depends on time:
 * replays and other work stand still until `proceed`, and an answer stays fresh.
 */
export function renderPage(address: string, options: Parameters<typeof createFixture>[0] = {}) {
  const work = { proceeds: false };
  const fixture = createFixture({ work, ...options });
  const session = { scopes: options.scopes ?? ['read'], token: 'token-of-the-page' };
  const answer = vi.fn((url: URL, init: RequestInit) =>
    url.pathname.endsWith('/api/v1/session') ? Response.json(session) : fixture.fetch(url, { ...init, signal: null }),
  );
  vi.stubGlobal('fetch', answer);
  history.replaceState(null, '', address);
  const client = new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } },
  });
  const rendered = render(
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>,
  );
  const proceed = () => {
    work.proceeds = true;
  };
  return { ...rendered, fetch: answer, proceed };
}

export const REPORT = 'dataset:file:/demo/out/report';

/** The address at which a cell of the report is traced. */
export function traceOf(row: number, column: string, more: Record<string, string> = {}): string {
  const file = 'file:/demo/out/report/part-00000-c41d.csv';
  return `/?${new URLSearchParams({ dataset: REPORT, file, row: String(row), column, ...more })}`;
}
