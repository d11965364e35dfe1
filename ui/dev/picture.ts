/**
 * Takes the picture of the README: `python scripts/picture.py` runs it against the service of a demo.
 *
 * It opens the report, clicks the value that the story is about, and waits for the answer.
 */
import { chromium } from '@playwright/test';

const { HEADWATER_E2E_LINK: link, PICTURE_FILE: file, PICTURE_DATASET: dataset, PICTURE_VALUE: value } = process.env;
if (!link || !file || !dataset || !value)
  throw new Error('HEADWATER_E2E_LINK and PICTURE_… must be set. Run: python scripts/picture.py');

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: 'light' });
await page.goto(link);
await page
  .getByRole('link', { name: new RegExp(`^${dataset}`) })
  .first()
  .click();
await page.getByRole('gridcell', { name: value }).click();
await page.locator('.react-flow__edge-path').first().waitFor({ state: 'attached' });
await page.waitForLoadState('networkidle');
// The first answer of a service that has just started includes opening its files.
await page.reload();
await page.locator('.react-flow__edge-path').first().waitFor({ state: 'attached' });
await page.waitForLoadState('networkidle');
await page.evaluate(() => document.fonts.ready);
await page.screenshot({ path: file, animations: 'disabled' });
await browser.close();
