import { chromium, type FullConfig } from '@playwright/test';

/** Opens the page by its link, once, as a person does, and keeps the session for all tests. */
export default async function openPage(config: FullConfig): Promise<void> {
  const { storageState, launchOptions } = config.projects[0]?.use ?? {};
  const link = process.env.HEADWATER_E2E_LINK;
  if (!link || typeof storageState !== 'string') {
    throw new Error('HEADWATER_E2E_LINK must hold the link that “headwater serve” prints. Run: pytest tests/e2e');
  }
  const browser = await chromium.launch(launchOptions);
  const page = await browser.newPage();
  await page.goto(link);
  await page.getByRole('heading', { name: 'Where did this data come from?' }).waitFor();
  await page.context().storageState({ path: storageState });
  await browser.close();
}
