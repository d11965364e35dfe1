/** A shared link: its record is found after the next write, in the version of that time. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';

const { HEADWATER_E2E_SHARED: shared = '', HEADWATER_E2E_WRITE: write = '1' } = process.env;
const sentence = 'amount = 30 of line 2 in report.csv comes from 3 records in customers.csv and orders.csv.';

test('the address of a trace names the version of the record', async ({ page }) => {
  test.skip(write !== '1');
  await page.goto('/');
  await page.getByRole('link', { name: /^report\.csv/ }).click();
  await page.getByRole('gridcell', { name: '30', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(sentence);
  await expect(page).toHaveURL(/version=/);
  writeFileSync(shared, page.url());
});

test('after the next write, the address finds the same record', async ({ page }) => {
  test.skip(write !== '2');
  await page.goto(readFileSync(shared, 'utf8'));
  const heading = page.getByRole('heading', { level: 1 });
  // The file now contains another value in that place, so the page shows neither the value nor the number of the line.
  await expect(heading).toHaveText(
    'amount of row 0 in report.csv comes from 3 records in customers.csv and orders.csv.',
  );
  await expect(page.getByText('The values cannot be read.').first()).toBeVisible();
  await page.getByRole('radio', { name: 'Influence' }).check();
  await expect(heading).toContainText('was influenced by 3 records');
});
