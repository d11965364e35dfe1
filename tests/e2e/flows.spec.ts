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

test('which job of a lineage had unusual values', async ({ page }) => {
  await find(page, 'visits', /^marts\/visits|^visits/);
  await openTab(page, 'Lineage');
  const card = graph(page).getByRole('button', { name: /^count_visits.*\d unusual/ });
  await card.click();
  const panel = page.getByRole('complementary', { name: 'Details of count_visits' });
  await expect(panel.getByRole('table', { name: /^Unusual values/ })).toContainText('31');
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

test('what is hidden from a menu: an owner, a card, and all beside the way to a card', async ({ page }) => {
  await find(page, 'revenue', /^revenue/);
  await openTab(page, 'Lineage');
  await page.getByRole('combobox', { name: 'What to hide' }).selectOption('Hide the owner');
  await page.getByRole('textbox', { name: 'Hide the owner' }).fill('team:pricing');
  await page.keyboard.press('Enter');
  await expect(list(page).getByText(/^discounts/)).toHaveCount(0);
  await expect(list(page).getByText(/^board/)).not.toHaveCount(0);
  await graph(page)
    .getByRole('button', { name: /^export_board/ })
    .click();
  await page.getByRole('button', { name: 'Hide this' }).click();
  await expect(page.getByRole('button', { name: /^Show again: node=/ })).toHaveText('export_board');
  await graph(page)
    .getByRole('button', { name: /^clean\/?orders/ })
    .click();
  await page.getByRole('button', { name: 'Only the ways to or from revenue' }).click();
  await expect(list(page).getByText(/^board/)).toHaveCount(0);
  await expect(page).toHaveURL(/between=/);
  await page.getByRole('button', { name: 'Show again: what is not on the way' }).click();
  await expect(list(page).getByText(/^board/)).not.toHaveCount(0);
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
  await page.goto(
    `/?${new URLSearchParams({ dataset: process.env.HEADWATER_E2E_REPORT ?? '', page: 'columns', item: 'amount' })}`,
  );
  const readers = page.getByRole('table', { name: 'People and keys that got records of the dataset' });
  await expect(readers.getByRole('row').nth(1)).toContainText('trace');
  await page.goto('/?page=admin');
  await page.getByRole('textbox', { name: 'Dataset' }).fill('report.csv');
  await page.getByRole('button', { name: 'Search' }).click();
  const entries = page.getByRole('table', { name: /^Entries/ });
  await expect(entries.getByRole('row', { name: /trace/ }).first()).toContainText('allowed');
});

test('a policy against personal data in exports: check, apply, accept a deviation', async ({ page }) => {
  await page.goto(process.env.HEADWATER_E2E_WRITE_LINK ?? '');
  await page.getByRole('link', { name: 'Policies' }).click();
  const text = [
    'policy: exports',
    'rules:',
    '  - name: no personal data in exports',
    '    severity: error',
    '    must_not_flow:',
    '      from: {tag: pii}',
    '      to: {dataset: "exports/*"}',
  ].join('\n');
  await page.getByRole('textbox', { name: 'A policy as YAML' }).fill(text);
  await page.getByRole('button', { name: 'Check the present lineage' }).click();
  const deviations = page.getByRole('table', { name: 'Deviations, the latest first' });
  await expect(deviations.getByRole('row', { name: /exports\/letters/ }).first()).toContainText('error');
  await page.getByRole('button', { name: 'Apply the policy' }).click();
  await expect(page.getByRole('table', { name: 'Applied policies' })).toContainText('exports');
  const open = page.getByRole('region', { name: 'Deviations', exact: true });
  const first = open.getByRole('form', { name: /^Accept/ }).first();
  await first.getByRole('textbox').fill('The letters need the address.');
  const before = await open.getByRole('form', { name: /^Accept/ }).count();
  await first.getByRole('button').click();
  await expect(open.getByRole('form', { name: /^Accept/ })).toHaveCount(before - 1);
  await open.getByRole('radio', { name: 'Accepted' }).check();
  await expect(open.getByRole('table')).toContainText('The letters need the address.');
});

test('where data with the tag pii flows', async ({ page }) => {
  await page.goto('/?page=policies');
  await page.getByRole('textbox', { name: 'Tag' }).fill('pii');
  await page.keyboard.press('Enter');
  const reached = page.getByRole('table', { name: 'Columns and datasets that the tag reaches' });
  await expect(reached.getByRole('row', { name: /^email of exports\/letters/ }).first()).toContainText(
    'values flow there',
  );
});

test('all records of a person', async ({ page }) => {
  await find(page, 'customers.csv', /^customers\.csv/);
  await openTab(page, 'Personal data');
  await page.getByRole('textbox', { name: 'The records are those where' }).fill('id = 1');
  await page.keyboard.press('Enter');
  await expect(page.getByText(/^1 record here fit/)).toBeVisible();
  const datasets = page.getByRole('table', { name: 'Datasets downstream' });
  await expect(datasets.getByRole('row', { name: /report\.csv/ })).toContainText('1');
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: /^Records as CSV/ }).click();
  expect(readFileSync(await (await download).path(), 'utf8')).toContain('report.csv');
});

test('a data contract is compared with the datasets', async ({ page }) => {
  await page.goto('/?page=policies');
  const contract = {
    apiVersion: 'v3.1.0',
    kind: 'DataContract',
    id: 'revenue',
    version: '1.0.0',
    status: 'active',
    schema: [{ name: 'marts/revenue', properties: [{ name: 'revenue' }, { name: 'currency' }] }],
  };
  await page.getByLabel('A contract in YAML or JSON').setInputFiles({
    name: 'revenue.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(contract)),
  });
  const clauses = page.getByRole('table', { name: 'Clauses of the contract' });
  await expect(clauses.getByRole('row', { name: /^currency/ })).toContainText('broken');
  await expect(clauses.getByRole('row', { name: /^revenue/ })).toContainText('kept');
});
