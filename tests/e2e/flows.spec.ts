/**
 * What people look for, as they look for it, over the lake of a shop (shop_lake.py) and a report with lineage of records. story.spec.ts runs
 * a replay without a record, and share.spec.ts follows a shared link after the next write.
 */
import { readFileSync } from 'node:fs';
import { expect, type Page, test } from '@playwright/test';

const graph = (page: Page) => page.getByRole('region', { name: 'Lineage graph' });
const list = (page: Page) => page.getByRole('navigation', { name: 'Lineage as a list' });
const heading = (page: Page) => page.getByRole('heading', { level: 1 });

async function find(page: Page, text: string, name: RegExp): Promise<void> {
  await page.goto('/');
  await page.locator('a[data-row]').first().waitFor();
  await page.getByRole('searchbox').fill(text);
  await page.getByRole('link', { name }).first().click();
  await expect(heading(page)).toBeVisible();
}

async function openTab(page: Page, tab: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages of the dataset' }).getByRole('link', { name: tab }).click();
}

test('the origin of a wrong number, and its evidence as a file', async ({ page }) => {
  await find(page, 'report.csv', /^report\.csv/);
  await page.getByRole('gridcell', { name: '30', exact: true }).click();
  await expect(heading(page)).toContainText('comes from 3 records in customers.csv and orders.csv');
  const reason = 'which columns it needs is not known';
  await expect(page.getByText(reason).first()).toBeVisible();
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: /^Answer as JSON/ }).click();
  const { address, question, answer } = JSON.parse(readFileSync(await (await download).path(), 'utf8'));
  expect(address).toContain('report.csv');
  expect(question).toMatchObject({ column: 'amount' });
  expect(answer).toMatchObject({ exact: false, total: 3 });
  expect(JSON.stringify(answer.incomplete)).toContain(reason);
});

test('the columns that feed a number of a report', async ({ page }) => {
  await find(page, 'revenue', /^revenue/);
  await openTab(page, 'Columns');
  await page.getByRole('link', { name: 'Show the lineage and the readers of revenue' }).click();
  const from = page.getByRole('table', { name: 'What revenue comes from' });
  await expect(from.getByRole('row', { name: /^amount/ })).toContainText([
    'clean/orders',
    'staging/orders',
    'shop.public.orders',
  ]);
  await expect(from.getByRole('row', { name: /^discount/ })).toContainText('clean/discounts');
  await from
    .getByRole('row', { name: /shop\.public\.orders/ })
    .getByRole('link', { name: 'amount' })
    .click();
  await expect(page.getByRole('table', { name: 'What breaks without amount' })).toContainText('marts/revenue');
});

test('what breaks if a column is dropped', async ({ page }) => {
  await find(page, 'public customers', /^shop\.public\.customers/);
  await openTab(page, 'Columns');
  await page.getByRole('link', { name: 'Show the lineage and the readers of city' }).click();
  await expect(page.getByText('4 columns in 4 datasets.')).toBeVisible();
  const affected = page.getByRole('table', { name: 'What breaks without city' });
  await expect(affected.getByRole('row', { name: /exports\/board/ })).toContainText('team:finance');
  await openTab(page, 'Impact');
  await expect(page.getByRole('table', { name: 'Impact, the nearest first' })).toContainText('letters');
});

test('what changed since yesterday', async ({ page }) => {
  await find(page, 'revenue', /^revenue/);
  await openTab(page, 'Lineage');
  await page.getByRole('button', { name: 'Show another time or changes' }).click();
  await page.getByRole('checkbox', { name: /^Changes since/ }).check();
  const changes = page.getByRole('region', { name: 'Changes' });
  await expect(changes.getByRole('status')).toContainText(/From 2026-02-02 .* to /);
  await changes.getByText('Names of the changes').click();
  await expect(changes).toContainText('clean/discounts');
  await expect(page).toHaveURL(/since=/);
});

test('why the last run of the night failed', async ({ page }) => {
  await page.goto('/');
  await page
    .getByRole('link', { name: /^board/ })
    .first()
    .click();
  await expect(page.getByRole('alert').or(page.getByRole('note')).first()).toContainText(
    'Table marts.revenue has no column vat_rate',
  );
  await openTab(page, 'Runs');
  await page.getByRole('row', { name: /fail/i }).first().getByRole('link').first().click();
  await expect(heading(page)).toContainText('export_board');
  await expect(page.getByRole('alert')).toContainText("KeyError: 'vat_rate'");
});

test('a lineage without staging', async ({ page }) => {
  await find(page, 'revenue', /^revenue/);
  await openTab(page, 'Lineage');
  await expect(
    list(page)
      .getByText(/^staging\/orders|^orders/)
      .first(),
  ).toBeAttached();
  await page.getByRole('textbox', { name: 'Hide names like' }).fill('staging*');
  await page.keyboard.press('Enter');
  await expect(
    graph(page)
      .getByText(/^via \d/)
      .first(),
  ).toBeVisible();
  await expect(list(page).getByText(/staging/)).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole('button', { name: 'Show again: name=staging*' })).toBeVisible();
});

test('who read a column with personal data', async ({ page }) => {
  await find(page, 'staging customers', /^staging\/customers|^customers/);
  await openTab(page, 'Columns');
  await page.getByRole('link', { name: 'Show the lineage and the readers of email' }).click();
  await expect(page.getByText(/Its tags, .*pii/)).toBeVisible();
  const jobs = page.getByRole('table', { name: 'Jobs that used the column, the earliest first' });
  await expect(jobs.getByRole('row', { name: /newsletter/ })).toContainText('read');
  await expect(jobs.getByRole('row', { name: /clean_orders/ })).toHaveCount(0);
  await expect(page.getByRole('heading', { name: 'Audit log' })).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Dataset' })).toHaveValue('staging/customers');
});

test('the people who read the records of a dataset', async ({ page }) => {
  await find(page, 'report.csv', /^report\.csv/);
  await page.getByRole('gridcell', { name: '30', exact: true }).click();
  await expect(heading(page)).toContainText('comes from 3 records');
  await page.goto('/?page=admin');
  await page.getByRole('textbox', { name: 'Dataset' }).fill('report.csv');
  await page.getByRole('button', { name: 'Search' }).click();
  const entries = page.getByRole('table', { name: /^Entries/ });
  await expect(entries.getByRole('row', { name: /trace/ }).first()).toContainText('allowed');
});
