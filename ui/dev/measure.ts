/**
 * Opens datasets in Chromium and says how long the page took: `python -m bench.page` runs it against a service on a large lake.
 *
 * `graph_ms` is from the start of the navigation to the frame that holds the first link of the graph, `frame_ms` the longest frame from
 * there to a second after the page came to rest, `task_ms` the longest task of the page's script, `boxes` the cards that are in the page.
 */
import { type Browser, chromium } from '@playwright/test';

interface Figures {
  graph_ms: number;
  frame_ms: number;
  task_ms: number;
  boxes: number;
  focus_in_sight: boolean;
}

const { HEADWATER_E2E_LINK: link, HEADWATER_E2E_SERVICE: service } = process.env;
const foci = JSON.parse(process.env.MEASURE_FOCI ?? '[]') as string[];
const rounds = Number(process.env.MEASURE_ROUNDS ?? 5);
if (!link || !service)
  throw new Error('HEADWATER_E2E_LINK and HEADWATER_E2E_SERVICE must be set. Run: python -m bench.page');

/** Runs in the page before its own script: notes when the first link is painted, and every long frame and task. */
function watch(): void {
  const seen = { graph: 0, frame: 0, task: 0 };
  Object.assign(globalThis, { seen });
  const longest = (type: string, name: 'frame' | 'task') =>
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen[name] = Math.max(seen[name], entry.duration);
    }).observe({ type, buffered: true });
  longest('long-animation-frame', 'frame');
  longest('longtask', 'task');
  const look = () => {
    if (document.querySelector('.react-flow__edge-path')) requestAnimationFrame(() => (seen.graph = performance.now()));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

async function open(browser: Browser, dataset: string): Promise<Figures> {
  const context = await browser.newContext({
    storageState: `${process.env.MEASURE_FOLDER}/session.json`,
    viewport: { width: 1280, height: 800 },
  });
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.goto(`${service}/?dataset=${encodeURIComponent(dataset)}`);
  await page.waitForFunction(() => (globalThis as unknown as { seen: { graph: number } }).seen.graph > 0);
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(1000);
  const figures = await page.evaluate((id) => {
    const { seen } = globalThis as unknown as { seen: { graph: number; frame: number; task: number } };
    const frame = document.querySelector('.react-flow')?.getBoundingClientRect();
    const card = document.querySelector(`.react-flow__node[data-id="${CSS.escape(id)}"]`)?.getBoundingClientRect();
    const inSight = frame && card && card.left >= frame.left && card.right <= frame.right && card.top >= frame.top;
    return {
      graph_ms: Math.round(seen.graph),
      frame_ms: Math.round(seen.frame),
      task_ms: Math.round(seen.task),
      boxes: document.querySelectorAll('.react-flow__node').length,
      focus_in_sight: Boolean(inSight && card.bottom <= frame.bottom),
    };
  }, dataset);
  await context.close();
  return figures;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const print = (about: object) => process.stdout.write(`${JSON.stringify(about)}\n`);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
const first = await browser.newPage();
await first.goto(link);
await first.getByRole('heading', { name: 'Where did this data come from?' }).waitFor();
await first.context().storageState({ path: `${process.env.MEASURE_FOLDER}/session.json` });
await first.close();
const all: Figures[] = [];
for (const dataset of foci) {
  const runs: Figures[] = [];
  for (let round = 0; round < rounds; round++) runs.push(await open(browser, dataset));
  all.push(...runs);
  const column = (name: 'graph_ms' | 'frame_ms' | 'task_ms' | 'boxes') => runs.map((run) => run[name]);
  print({
    dataset,
    graph_ms: { median: median(column('graph_ms')), most: Math.max(...column('graph_ms')) },
    frame_ms: { median: median(column('frame_ms')), most: Math.max(...column('frame_ms')) },
    task_ms: { median: median(column('task_ms')), most: Math.max(...column('task_ms')) },
    boxes: Math.max(...column('boxes')),
    focus_in_sight: runs.every((run) => run.focus_in_sight),
  });
}
print({
  all: all.length,
  graph_ms: { median: median(all.map((run) => run.graph_ms)), most: Math.max(...all.map((run) => run.graph_ms)) },
  frame_ms: { median: median(all.map((run) => run.frame_ms)), most: Math.max(...all.map((run) => run.frame_ms)) },
});
await browser.close();
