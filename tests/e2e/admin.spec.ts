/** Administration over the real service: a key is made, works, is seen in the audit log, and is revoked; then the session ends. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from '@playwright/test';

test('a key is made, used, found in the audit log and revoked; who signs out is known no more', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('link', { name: 'Administration' })).toHaveCount(0);
  await page.goto(process.env.HEADWATER_E2E_ADMIN_LINK ?? '');
  await page.getByRole('link', { name: 'Administration' }).click();
  const form = page.getByRole('form', { name: 'Create a key' });
  await form.getByRole('textbox', { name: 'Name' }).fill('loader');
  await form.getByRole('combobox', { name: 'Role' }).selectOption('viewer');
  await form.getByRole('button', { name: 'Create a key' }).click();
  const secret = await page.getByText(/^hwk_/).innerText();
  const asks = () =>
    fetch(`${process.env.HEADWATER_E2E_SERVICE}/api/v1/session`, { headers: { Authorization: `Bearer ${secret}` } });
  expect((await (await asks()).json()).scopes).toEqual(['read']);

  await page.reload();
  await expect(page.getByText(secret)).toHaveCount(0);
  const row = page.getByRole('row', { name: /^loader/ });
  await expect(row).toContainText('valid');
  await page.getByRole('textbox', { name: 'Dataset' }).fill('loader');
  await page.getByRole('button', { name: 'Search' }).click();
  await expect(page.getByRole('table', { name: /^Entries/ })).toContainText('key.create');
  await page.getByRole('button', { name: 'Verify' }).click();
  await expect(page.getByText(/^No line was changed or removed/)).toBeVisible();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  }

  await row.getByRole('button', { name: /^Revoke/ }).click();
  await row.getByRole('button', { name: /^Confirm/ }).click();
  await expect(row).toHaveCount(0);
  expect((await asks()).status).toBe(401);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByText('headwater serve')).toBeVisible();
  expect((await page.goto('/'))?.status()).toBe(401);
});
