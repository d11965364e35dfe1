/**
 * Every view of the page: no fault of accessibility, nothing wider than the window, no error, no request to another origin. The lake has hostile
 * names. With HEADWATER_E2E_ALL both themes and widths are combined. HEADWATER_E2E_PICTURES names a folder for pictures of all views.
 * With HEADWATER_E2E_LARGE the pictures are also those of a large window.
 */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page, test } from '@playwright/test';

const { HEADWATER_E2E_HOSTILE: hostile = '{}', HEADWATER_E2E_REPORT: report = '' } = process.env;
const { HEADWATER_E2E_ALL: all, HEADWATER_E2E_PICTURES: pictures, HEADWATER_E2E_LARGE: large } = process.env;
const { HEADWATER_E2E_SERVICE: service = '', HEADWATER_E2E_RUN: run = '' } = process.env;

const lake = (name: string) => `dataset:${encodeURIComponent('s3://lake').replaceAll('%2F', '/')}:${name}`;
const address = (parameters: Record<string, string>) => `/?${new URLSearchParams(parameters)}`;
const ofRevenue = (page: string) => address({ dataset: lake('marts/revenue'), page });
const graph = '.react-flow__edge-path';

/** The address of each view, and an element that is there when the view is complete. */
const VIEWS: Record<string, readonly [address: string, complete: string]> = {
  start: ['/', 'a[data-row]'],
  'start, nothing found': ['/?find=nothing+like+it', 'text=No dataset is found'],
  'rows of a table': [address({ dataset: report }), '[role=gridcell]'],
  'rows that nobody can read': [address({ dataset: lake('marts/revenue') }), 'text=The rows are not shown.'],
  lineage: [ofRevenue('lineage'), graph],
  'lineage, changes': [`${ofRevenue('lineage')}&since=2026-02-02T12:00:00Z`, graph],
  'lineage, outer level': [`${ofRevenue('lineage')}&level=platform&actors=system`, '[data-card]'],
  columns: [ofRevenue('columns'), 'role=table'],
  impact: [ofRevenue('impact'), 'role=table'],
  runs: [ofRevenue('runs'), 'role=table'],
  versions: [ofRevenue('versions'), 'role=table'],
  quality: [ofRevenue('quality'), 'h2'],
  about: [ofRevenue('about'), 'h2'],
  why: [address({ dataset: report, page: 'why' }), '[aria-label="Clean the result"]'],
  'personal data': [address({ dataset: report, page: 'person', where: 'true' }), 'role=status'],
  policies: [address({ page: 'policies' }), 'h1'],
  trace: [
    address({ dataset: report, file: report.replace('dataset:', ''), row: '0', column: 'amount' }),
    'text=The records behind it',
  ],
  job: [address({ page: 'job', item: 'job:airflow:export_board' }), 'role=table'],
  run: [address({ page: 'run', item: run }), '[aria-label="What changed?"]'],
  replays: [address({ page: 'replays' }), 'h1'],
  triggers: [address({ page: 'triggers' }), 'h1'],
  workflows: [address({ page: 'workflows' }), 'h1'],
  glossary: [address({ page: 'glossary' }), 'h1'],
  map: [address({ page: 'map' }), 'main h1'],
  administration: [address({ page: 'admin' }), 'role=table'],
  'unknown dataset': [address({ dataset: lake('of_any_name_'.repeat(30)) }), '[role=alert]'],
  ...Object.fromEntries(
    Object.entries(JSON.parse(hostile) as Record<string, string>).flatMap(([kind, id]) => [
      [`name: ${kind}`, [address({ dataset: id, page: 'lineage' }), graph]],
      [`columns of name: ${kind}`, [address({ dataset: id, page: 'columns' }), 'role=table']],
    ]),
  ),
};

const SIZES = {
  narrow: { width: 390, height: 844 },
  wide: { width: 1440, height: 900 },
  huge: { width: 3840, height: 2160 },
};
/** A window of 1440 x 900 at a zoom of 200 %. */
const ZOOMED = { width: 720, height: 450 };
const USUAL = [
  ['light', 'wide'],
  ['dark', 'narrow'],
] as const;
/** A name is long in a narrow window. */
const NARROW = [['dark', 'narrow']] as const;
const OTHERS = [
  ['light', 'narrow'],
  ['dark', 'wide'],
] as const;
const LARGE = [
  ['light', 'huge'],
  ['dark', 'huge'],
] as const;

function widthBeyond(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Wait until the page is drawn in its new colours and size. */
function drawTwoFrames(): Promise<void> {
  return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn())));
}

async function check(page: Page, view: string, [colorScheme, size]: readonly ['light' | 'dark', keyof typeof SIZES]) {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.setViewportSize(SIZES[size]);
  await expect(page.locator('[aria-busy=true]')).toHaveCount(0);
  await page.evaluate(drawTwoFrames);
  if (pictures)
    await page.screenshot({
      path: `${pictures}/${view.replaceAll(/\W+/g, '-')}-${size}-${colorScheme}.png`,
      fullPage: true,
    });
  if (size === 'huge') return;
  expect.soft(await widthBeyond(page), `pixels beyond the window in ${view}, ${colorScheme}, ${size}`).toBe(0);
  const { violations } = await new AxeBuilder({ page }).analyze();
  const faults = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 300)}`),
  );
  expect.soft(faults, `${view}, ${colorScheme}, ${size}`).toEqual([]);
}

for (const [view, [start, complete]] of Object.entries(VIEWS)) {
  test(`view: ${view}`, async ({ page }) => {
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('request', (request) => {
      if (!request.url().startsWith(service) && !request.url().startsWith('blob:')) faults.push(request.url());
    });
    await page.setViewportSize(SIZES.wide);
    await page.goto(start);
    await page.locator(complete).first().waitFor({ state: 'attached' });
    const usual = view.includes('name: ') ? NARROW : USUAL;
    await page.setViewportSize(ZOOMED);
    expect.soft(await widthBeyond(page), 'pixels beyond the window at a zoom of 200 %').toBe(0);
    for (const looks of [...usual, ...(all ? OTHERS : []), ...(large ? LARGE : [])]) await check(page, view, looks);
    expect(await page.title()).not.toBe('owned');
    expect(faults).toEqual([]);
  });
}
