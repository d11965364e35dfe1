/** A lake of 10,000 nodes: a dataset opens in the middle of a few, and the drawing grows. test_page.py makes it in the store. */
import { expect, type Page, test } from '@playwright/test';

const foci = JSON.parse(process.env.HEADWATER_E2E_FOCI ?? '[]') as string[];
const [hub = '', wide = ''] = foci;
const graph = (page: Page) => page.getByRole('region', { name: 'Lineage graph' });
const boxes = (page: Page) => page.locator('.react-flow__node');
const nameOf = (dataset: string) => dataset.split('/').at(-1) ?? '';

async function open(page: Page, dataset: string): Promise<void> {
  await page.goto(`/?dataset=${encodeURIComponent(dataset)}`);
  await page.locator('.react-flow__edge-path').first().waitFor({ state: 'attached' });
}

for (const dataset of foci) {
  test(`${nameOf(dataset)} opens in sight, among few`, async ({ page }) => {
    await open(page, dataset);
    const focus = graph(page).getByRole('button', { name: new RegExp(`^${nameOf(dataset)}\\s*dataset`) });
    const [card, canvas] = [await focus.boundingBox(), await graph(page).boundingBox()];
    if (!card || !canvas) throw new Error('The focus or the graph is not in the page.');
    expect(card.x).toBeGreaterThanOrEqual(canvas.x);
    expect(card.x + card.width).toBeLessThanOrEqual(canvas.x + canvas.width);
    expect(card.y).toBeGreaterThanOrEqual(canvas.y);
    expect(card.y + card.height).toBeLessThanOrEqual(canvas.y + canvas.height);
    expect(await boxes(page).count()).toBeLessThanOrEqual(40);
  });
}

test('a box says what is hidden beside it; a click draws it, and Back takes it away', async ({ page }) => {
  await open(page, hub);
  const more = graph(page).getByRole('button', { name: new RegExp(`^Draw \\d+ more after ${nameOf(hub)}$`) });
  const before = await more.getAttribute('aria-label');
  await more.click();
  await expect(page).toHaveURL(/grown=after/);
  await expect(more).not.toHaveAttribute('aria-label', before ?? '');
  await page.goBack();
  await expect(page).not.toHaveURL(/grown/);
  await expect(more).toHaveAttribute('aria-label', before ?? '');
});

test('a drawing that has grown as far as it can holds 150 boxes, and only those in sight are in the page', async ({
  page,
}) => {
  const others = Array.from({ length: 12 }, (_, index) => hub.replace(/\d+$/, `${index}`));
  const grown = [hub, hub, hub, ...others].map((id) => `grown=${encodeURIComponent(`after ${id}`)}`).join('&');
  await page.goto(`/?dataset=${encodeURIComponent(hub)}&${grown}`);
  await expect(page.getByText(/150 cards are drawn/)).toBeVisible();
  expect(await boxes(page).count()).toBeLessThan(75);
  await graph(page).getByRole('button', { name: 'Show the whole' }).click();
  await expect.poll(() => boxes(page).count()).toBeGreaterThan(100);
  expect(await boxes(page).count()).toBeLessThanOrEqual(150);
});

test('changes of the view are steps of the history: Back undoes them one by one, and stays on the page', async ({
  page,
}) => {
  await open(page, wide);
  const jobs = page.getByRole('checkbox', { name: 'Hide jobs' });
  await jobs.check();
  await page.getByRole('combobox', { name: 'Data as' }).selectOption('platforms');
  await expect(page).toHaveURL(/level=platform/);
  await page.goBack();
  await expect(page).not.toHaveURL(/level/);
  await expect(jobs).toBeChecked();
  await page.goBack();
  await expect(jobs).not.toBeChecked();
  await expect(page).toHaveURL(/dataset=/);
});

test('a chosen view of a large lineage starts with 40 boxes, and says how many nodes there are', async ({ page }) => {
  await page.goto(`/?dataset=${encodeURIComponent(wide)}&hide=kind%3Djob`);
  await expect(page.getByText(/^The nearest 40 of \d/)).toBeVisible();
  expect(await boxes(page).count()).toBeLessThanOrEqual(40);
});

test('a drawing of 1,000 cards is a picture from far away, and elements from near', async ({ page }) => {
  await page.goto(`/?dataset=${encodeURIComponent(hub)}&cards=1000&large=1`);
  await graph(page).locator('canvas').waitFor();
  await graph(page).getByRole('button', { name: 'Show the whole' }).click();
  await expect(boxes(page)).toHaveCount(0);
  await graph(page).getByRole('textbox', { name: 'Find in the graph' }).fill(nameOf(hub));
  await page.keyboard.press('Enter');
  await expect(page.getByRole('complementary', { name: `Details of ${nameOf(hub)}` })).toBeVisible();
  await page.getByRole('button', { name: 'Close the details' }).click();
  for (let step = 0; step < 4; step++) await graph(page).getByRole('button', { name: 'Zoom In' }).click();
  await expect(page.getByRole('navigation', { name: 'Lineage as a list' }).getByRole('button')).not.toHaveCount(0);
});
