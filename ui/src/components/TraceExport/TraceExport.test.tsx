// @vitest-environment jsdom
/** The files of a trace and of a lineage: those of the page, and those that the service makes for sessions with the scopes for it. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { vi } from 'vitest';
import { REPORT, renderPage, traceOf } from '../../../dev/renderPage';

beforeEach(() => {
  URL.createObjectURL = vi.fn(() => 'blob:x');
  URL.revokeObjectURL = vi.fn();
});

async function openMenu(user: ReturnType<typeof userEvent.setup>) {
  await user.click(await screen.findByRole('button', { name: 'Export' }));
  return within(screen.getByRole('region', { name: 'Export' }));
}

test('a trace can be saved as drawing, records, provenance and evidence', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(traceOf(1, 'max_wind_mph', { semantics: 'witness' }), {
    scopes: ['read', 'records', 'export'],
  });
  await screen.findByRole('region', { name: 'Lineage graph' });
  for (const label of ['Drawing as SVG', 'Records as CSV', 'Answer as JSON', 'Links as CSV']) {
    await user.click((await openMenu(user)).getByText(label));
    await waitFor(() => expect(URL.createObjectURL).toHaveBeenCalled());
    vi.mocked(URL.createObjectURL).mockClear();
  }
  const answer = fetch.getMockImplementation();
  fetch.mockImplementation(async (url: URL, init: RequestInit) =>
    url.pathname.endsWith('/api/v1/evidence')
      ? Response.json({ message: 'A bundle contains values that are masked for you.' }, { status: 403 })
      : ((await answer?.(url, init)) as Response),
  );
  await user.click((await openMenu(user)).getByText('Evidence bundle'));
  expect(await screen.findByText('A bundle contains values that are masked for you.')).toBeVisible();
  const [asked] = fetch.mock.calls.map(([url]) => url).filter(({ pathname }) => pathname.endsWith('/api/v1/evidence'));
  expect(Object.fromEntries(asked?.searchParams ?? [])).toMatchObject({
    target: REPORT,
    row: '1',
    column: 'max_wind_mph',
    semantics: 'witness',
  });
});

test('a session without the scope gets no file from the service', async () => {
  const user = userEvent.setup();
  renderPage(traceOf(1, 'max_wind_mph'));
  const menu = await openMenu(user);
  expect(menu.queryByText('Evidence bundle')).toBeNull();
  expect(menu.queryByText('Provenance as PROV')).toBeNull();
});

test('the provenance of a lineage has the levels, masks and time of the drawing', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(
    `/?dataset=${REPORT}&page=lineage&level=version&actors=run&hide=name%3D*tmp*&asOf=2026-02-03T09:00:00Z`,
    { scopes: ['read', 'export'] },
  );
  const answer = fetch.getMockImplementation();
  fetch.mockImplementation(async (url: URL, init: RequestInit) =>
    url.pathname.endsWith('/api/v1/prov') ? Response.json({}) : ((await answer?.(url, init)) as Response),
  );
  await user.click((await openMenu(user)).getByText('Provenance as PROV'));
  const [asked] = fetch.mock.calls.map(([url]) => url).filter(({ pathname }) => pathname.endsWith('/api/v1/prov'));
  expect(asked?.searchParams.getAll('level')).toEqual(['version', 'run']);
  expect(asked?.searchParams.getAll('mask')).toEqual(['name=*tmp*']);
  expect(asked?.searchParams.get('as_of')).toBe('2026-02-03T09:00:00Z');
});
