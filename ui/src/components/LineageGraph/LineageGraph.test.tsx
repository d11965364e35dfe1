// @vitest-environment jsdom
import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';
import { type ViewArguments, view } from '../../../dev/view';

const canvas = () => screen.findByRole('region', { name: 'Lineage graph' });
const parameter = (name: string) => new URLSearchParams(location.search).get(name);
const OUTER = `/?dataset=${REPORT}&level=platform&actors=pipeline`;

async function namesOfCards(): Promise<string[]> {
  const buttons = await within(await canvas()).findAllByRole('button', { name: /dataset|job/ });
  const cards = buttons.filter((button) => button.dataset.card !== undefined);
  return cards.map((card) => card.title.split('\n')[0] ?? '').sort();
}

test('a platform opens to its datasets inside its box, next to the closed pipelines, and closes again', async () => {
  const user = userEvent.setup();
  renderPage(OUTER);
  await user.click(await screen.findByRole('button', { name: 'Draw the datasets inside file' }));
  const graph = await canvas();
  expect((await within(graph).findAllByRole('button', { name: /^report\s*dataset/ })).length).toBe(1);
  const list = screen.getByRole('navigation', { name: 'Lineage as a list' });
  expect(within(list).getByRole('button', { name: /^enrich, pipeline/ })).toBeInTheDocument();
  expect(parameter('open')).toBe('dataset platform:file');
  expect(within(screen.getByRole('navigation', { name: 'Open boxes' })).getByText('file')).toBeVisible();
  await user.click(screen.getByRole('button', { name: 'Draw file as one card' }));
  expect(await screen.findByRole('button', { name: 'Draw the datasets inside file' })).toBeInTheDocument();
  expect(parameter('open')).toBeNull();
});

test('keys open and close boxes and follow links', async () => {
  const user = userEvent.setup();
  renderPage(OUTER);
  const file = await within(await canvas()).findByRole('button', { name: /^file\s*platform/ });
  file.focus();
  await user.keyboard('+');
  await waitFor(() => expect(parameter('open')).toBe('dataset platform:file'));
  const inside = await within(await canvas()).findByRole('button', { name: /^enriched\s*dataset/ });
  inside.focus();
  await user.keyboard('{ArrowRight}');
  await waitFor(() => expect(document.activeElement).toHaveTextContent(/^report\s*pipeline/));
  inside.focus();
  await user.keyboard('-');
  await waitFor(() => expect(parameter('open')).toBeNull());
});

test('the slider changes the level of data and jobs together', async () => {
  renderPage(`/?dataset=${REPORT}`);
  const slider = await screen.findByRole('slider', { name: 'Level of the drawing' });
  expect(slider).toHaveAttribute('aria-valuetext', 'datasets and jobs');
  fireEvent.change(slider, { target: { value: '0' } });
  expect(await within(await canvas()).findByText(/platform · \d+ inside/)).toBeVisible();
  expect([parameter('level'), parameter('actors')]).toEqual(['platform', 'pipeline']);
});

test('a control that hides nothing changes no card', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}&before=4`);
  const before = await namesOfCards();
  expect(before.length).toBeGreaterThan(3);
  const graph = await canvas();
  await user.type(screen.getByRole('textbox', { name: 'Hide names like' }), 'nothing{Enter}');
  await screen.findByRole('button', { name: 'Show again: name=nothing' });
  await waitFor(() =>
    expect(screen.getByRole('region', { name: 'Lineage graph' }).parentElement).toHaveAttribute('aria-busy', 'false'),
  );
  expect(await namesOfCards()).toEqual(before);
  expect(await canvas()).toBe(graph);
});

test('the depth limits each side, and a card says what is not drawn', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  await user.selectOptions(await screen.findByRole('combobox', { name: 'Depth upstream' }), '1');
  const more = await within(await canvas()).findByRole('button', { name: 'Draw 1 more before hourly_weather' });
  expect(parameter('before')).toBe('2');
  await user.click(more);
  expect(await within(await canvas()).findByRole('button', { name: /^hourly_weather\s*job/ })).toBeInTheDocument();
});

test('a name is found in the drawing, and its details open', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  await user.type(await screen.findByRole('textbox', { name: 'Find in the graph' }), 'enrich{Enter}');
  await waitFor(() => expect(parameter('selected')).toContain('enrich'));
  expect(await screen.findByRole('complementary', { name: /^Details of enrich/ })).toBeVisible();
});

test('a link opens to its members, and to the content of its ends', async () => {
  const user = userEvent.setup();
  renderPage(OUTER);
  const graph = await canvas();
  fireEvent.click(await within(graph).findByRole('img', { name: 'file flows into enrich, 4 flows' }));
  const panel = await screen.findByRole('complementary', { name: 'Details of the link from file to enrich' });
  expect(within(panel).getByText('4 flows')).toBeVisible();
  await user.click(within(panel).getByRole('button', { name: 'Draw the datasets inside file' }));
  expect(parameter('open')).toBe('dataset platform:file');
});

test('screen readers get the drawing as a list with all links', async () => {
  renderPage(`/?dataset=${REPORT}`);
  const list = await screen.findByRole('navigation', { name: 'Lineage as a list' });
  expect(within(list).getByText(/^enriched, dataset\..*flows into report, job/)).toBeInTheDocument();
});

test('a drawing that the depth cut off says so at its cards, and continues', async () => {
  const user = userEvent.setup();
  const cut = (_: unknown, asked: ViewArguments) => {
    const answer = view(asked);
    const nodes = answer.nodes.map((each) => ({ ...each, distance: each.node?.name.startsWith('/demo/raw') ? 12 : 1 }));
    return { ...answer, nodes, totals: { ...answer.totals, beyond: 7 } };
  };
  renderPage(`/?dataset=${REPORT}&ends=1`, { query: { view: cut } });
  expect(await screen.findByText(/cut after 12 hops: at least 7 more nodes/)).toBeVisible();
  expect(screen.getByText(/not a real beginning or end/)).toBeVisible();
  expect((await within(await canvas()).findAllByText('‹ cut')).length).toBeGreaterThan(0);
  await user.click(screen.getByRole('button', { name: 'Continue for 12 more hops' }));
  expect(parameter('depth')).toBe('24');
});

test('the large drawing is in the address, and Escape closes it', async () => {
  const user = userEvent.setup();
  renderPage(`/?dataset=${REPORT}`);
  await user.click(await screen.findByRole('button', { name: 'Fill the window' }));
  expect(parameter('large')).toBe('1');
  await user.keyboard('{Escape}');
  await waitFor(() => expect(parameter('large')).toBeNull());
});
