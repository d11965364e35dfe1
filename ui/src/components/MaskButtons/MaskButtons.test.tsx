// @vitest-environment jsdom
/** Masks from menus: by owner above the drawing, by card in its details. */
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { REPORT, renderPage } from '../../../dev/renderPage';

const QUERY = () => new URLSearchParams(location.search);

test('a card is hidden from its details, and an owner from the menu', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(`/?dataset=${REPORT}&page=lineage`);
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  await user.click(await within(canvas).findByRole('button', { name: /^report\s*job/ }));
  await user.click(await screen.findByRole('button', { name: 'Hide this' }));
  expect(QUERY().get('hide')).toMatch(/^node=job:/);
  expect(await screen.findByRole('button', { name: /^Show again: node=job:/ })).toHaveTextContent(/^report$/);
  await user.selectOptions(screen.getByRole('combobox', { name: 'What to hide' }), 'Show only the owner');
  await user.type(screen.getByRole('textbox', { name: 'Show only the owner' }), 'team:data{Enter}');
  expect(QUERY().getAll('hide')).toContain('owner!=team:data');
  const asked = () =>
    fetch.mock.calls.map(([, { body }]) => String(body)).filter((body) => body.includes('query View('));
  await waitFor(() => expect(asked().at(-1)).toContain('"by":"OWNER","values":["team:data"],"negated":true'));
});

test('only the ways between a card and the focus are drawn, until the reader shows the rest', async () => {
  const user = userEvent.setup();
  const { fetch } = renderPage(`/?dataset=${REPORT}&page=lineage`);
  const canvas = await screen.findByRole('region', { name: 'Lineage graph' });
  await user.click(await within(canvas).findByRole('button', { name: /^report\s*dataset/ }));
  expect(screen.queryByRole('button', { name: 'Hide this' })).toBeNull(); // the focus cannot be hidden
  await user.click(await within(canvas).findByRole('button', { name: /^hourly_weather\s*dataset/ }));
  await user.click(await screen.findByRole('button', { name: 'Only the ways to or from report' }));
  const between = QUERY().get('between');
  expect(between).toMatch(/hourly_weather$/);
  const asked = () =>
    fetch.mock.calls.map(([, { body }]) => String(body)).filter((body) => body.includes('query View('));
  await waitFor(() => expect(asked().at(-1)).toContain(`"between":{"from":["${between}"],"to":["${REPORT}"]}`));
  await user.click(screen.getByRole('button', { name: 'Show again: what is not on the way' }));
  expect(QUERY().get('between')).toBeNull();
});
