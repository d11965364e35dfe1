/**
 * Opens datasets in Chromium and says how long the page took: `python -m bench.page` runs it against a service on a large lake.
 *
 * `graph_ms` is from the start of the navigation to the frame that holds the first link of the graph. `graph_cpu_ms` is the processor time of
 * the page's process and of the service until then, and `script_kb` the size of the scripts, as they were sent. `frame_ms` is the longest frame from
 * there to a second after the page came to rest, `frame_cpu_ms` the most processor time that the page's main thread took for one frame
 * (the fairer figure on a machine that has other work), `task_ms` the longest task of the page's script, `boxes` the cards that are in
 * the page. `move_cpu_ms` is the most processor time for one frame while the drawing fills the window and the pointer zooms and pans it.
 * `level_ms` is from a change of the level to the drawing of the answer, `level_cpu_ms` the processor time of the main thread in that time.
 * `MEASURE_QUERY` is a further part of each address.
 */
import { type Browser, type CDPSession, chromium, type Page } from '@playwright/test';
import { processorMs } from './processes.ts';

interface Figures {
  graph_ms: number;
  graph_cpu_ms: number;
  script_kb: number;
  frame_ms: number;
  frame_cpu_ms: number;
  task_ms: number;
  move_cpu_ms: number;
  level_ms: number[];
  level_cpu_ms: number[];
  boxes: number;
  focus_in_sight: boolean;
}

const { HEADWATER_E2E_LINK: link, HEADWATER_E2E_SERVICE: service } = process.env;
const foci = JSON.parse(process.env.MEASURE_FOCI ?? '[]') as string[];
const more = process.env.MEASURE_QUERY ?? '';
const servicePid = Number(process.env.MEASURE_SERVICE_PID);
const rounds = Number(process.env.MEASURE_ROUNDS ?? 5);
if (!link || !service)
  throw new Error('HEADWATER_E2E_LINK and HEADWATER_E2E_SERVICE must be set. Run: python -m bench.page');

/** Runs in the page before its own script: notes when the first link is painted, and every long frame and task. */
function watch(): void {
  const seen = { graph: 0, frame: 0, task: 0, script: 0 };
  Object.assign(globalThis, { seen });
  const longest = (type: string, name: 'frame' | 'task') =>
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen[name] = Math.max(seen[name], entry.duration);
    }).observe({ type, buffered: true });
  longest('long-animation-frame', 'frame');
  longest('longtask', 'task');
  const look = () => {
    if (document.querySelector('.react-flow__edge-path, .react-flow canvas'))
      requestAnimationFrame(() => {
        seen.graph = performance.now();
        performance.mark('first link');
        for (const { name, encodedBodySize } of performance.getEntriesByType('resource') as PerformanceResourceTiming[])
          if (name.endsWith('.js')) seen.script += encodedBodySize;
      });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** An event of Chromium's trace; times are microseconds, `tdur` is processor time. */
interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
  id2?: { local?: string };
}

const TRACED = { includedCategories: ['toplevel', 'devtools.timeline', 'blink.user_timing'] };
const TASK = 'ThreadControllerImpl::RunTask';

async function traced(session: CDPSession, work: () => Promise<void>): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: TRACED });
  await work();
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await complete;
  return events;
}

/** The most processor time that a main thread took within one frame, in ms. */
function frameCpu(events: readonly TraceEvent[]): number {
  let most = 0;
  const begun = new Map<string, number>();
  const edge = (event: TraceEvent) => `${event.pid} ${event.id2?.local}`;
  for (const event of events.filter(({ name }) => name === 'AnimationFrame').sort((a, b) => a.ts - b.ts)) {
    const start = begun.get(edge(event));
    if (event.ph === 'b') begun.set(edge(event), event.ts);
    if (event.ph !== 'e' || start === undefined) continue;
    let cpu = 0;
    let end = 0;
    for (const task of events) {
      const within = task.name === TASK && task.pid === event.pid && task.tid === event.tid && task.ph === 'X';
      // Tasks that stand within another are counted with it.
      if (!within || task.ts < Math.max(start - SLACK, end) || task.ts > event.ts) continue;
      end = task.ts + (task.dur ?? 0);
      cpu += task.tdur ?? 0;
    }
    most = Math.max(most, cpu / 1000);
  }
  return most;
}

/** The processor time in ms that all threads of the page's process took before the first link. */
function graphCpu(events: readonly TraceEvent[]): number {
  const mark = events.find(({ name }) => name === 'first link');
  if (!mark) return Number.NaN;
  const tasks = events.filter(
    ({ name, ph, pid, ts }) => name === TASK && ph === 'X' && pid === mark.pid && ts < mark.ts,
  );
  const ends = new Map<number, number>();
  let cpu = 0;
  for (const { tid, ts, dur = 0, tdur = 0 } of tasks.sort((a, b) => a.ts - b.ts)) {
    if (ts < (ends.get(tid) ?? 0)) continue; // within another task
    ends.set(tid, ts + dur);
    cpu += tdur / 1000;
  }
  return cpu;
}

/** A frame's edge is noted a little after the task in which it stands began. */
const SLACK = 100;

async function open(browser: Browser, dataset: string): Promise<Figures> {
  const context = await browser.newContext({
    storageState: `${process.env.MEASURE_FOLDER}/session.json`,
    viewport: { width: 1280, height: 800 },
  });
  const page = await context.newPage();
  await page.addInitScript(watch);
  const tracing = await browser.newBrowserCDPSession();
  let service_cpu_ms = 0;
  const events = await traced(tracing, async () => {
    const before = processorMs(servicePid);
    await page.goto(`${service}/?dataset=${encodeURIComponent(dataset)}${more}`);
    await page.waitForFunction(() => (globalThis as unknown as { seen: { graph: number } }).seen.graph > 0);
    service_cpu_ms = processorMs(servicePid) - before;
    await page.waitForLoadState('networkidle');
    await page.waitForTimeout(1000);
  });
  await tracing.detach();
  const boxes = await page.locator('.react-flow__node').count();
  const figures = await page.evaluate((id) => {
    const { seen } = globalThis as unknown as { seen: Record<'graph' | 'frame' | 'task' | 'script', number> };
    const frame = document.querySelector('.react-flow')?.getBoundingClientRect();
    const card = document.querySelector(`.react-flow__node[data-id="${CSS.escape(id)}"]`)?.getBoundingClientRect();
    const inSight = frame && card && card.left >= frame.left && card.right <= frame.right && card.top >= frame.top;
    return {
      graph_ms: Math.round(seen.graph),
      script_kb: Math.round(seen.script / 1000),
      frame_ms: Math.round(seen.frame),
      task_ms: Math.round(seen.task),
      focus_in_sight: Boolean(inSight && card.bottom <= frame.bottom),
    };
  }, dataset);
  const graph_cpu_ms = Math.round(graphCpu(events) + service_cpu_ms);
  const move_cpu_ms = await move(browser, page);
  const levels = await switchLevels(page);
  await context.close();
  return { ...figures, ...levels, graph_cpu_ms, boxes, move_cpu_ms, frame_cpu_ms: Math.round(frameCpu(events)) };
}

const STEPS = 20;

/** Zoom out and in, and pan, in the drawing that fills the window. Return the most processor time for one frame. */
async function move(browser: Browser, page: Page): Promise<number> {
  await page.getByRole('button', { name: 'Fill the window' }).click();
  await page.waitForTimeout(500);
  const tracing = await browser.newBrowserCDPSession();
  const events = await traced(tracing, async () => {
    await page.mouse.move(640, 400);
    for (let step = 0; step < STEPS; step++) await page.mouse.wheel(0, step < STEPS / 2 ? 120 : -120);
    await page.mouse.down();
    for (let step = 0; step < STEPS; step++) await page.mouse.move(640 + 15 * step, 400 + 8 * step);
    await page.mouse.up();
    await page.waitForTimeout(300);
  });
  await tracing.detach();
  await page.getByRole('button', { name: 'Back to the page' }).click();
  return Math.round(frameCpu(events));
}

/** Move the slider to the outermost level and back. Return the times until the drawing of the answer, and the processor times. */
async function switchLevels(page: Page): Promise<Pick<Figures, 'level_ms' | 'level_cpu_ms'>> {
  const slider = page.getByRole('slider', { name: 'Level of the drawing' });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const processorMs = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
  };
  const level_ms: number[] = [];
  const level_cpu_ms: number[] = [];
  for (const level of ['0', '1', '0', '1']) {
    const [start, before] = [Date.now(), await processorMs()];
    await slider.fill(level);
    const drawn = level === '0' ? '.react-flow__node[data-id^="platform:"]' : ':is(canvas, [data-id^="dataset:"])';
    await page.locator(`[aria-busy="false"] ${drawn}`).first().waitFor();
    level_ms.push(Date.now() - start);
    level_cpu_ms.push(Math.round((await processorMs()) - before));
  }
  return { level_ms, level_cpu_ms };
}

const last95 = (values: number[]) => values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? 0;
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
  const column = (name: 'graph_ms' | 'graph_cpu_ms' | 'frame_ms' | 'frame_cpu_ms' | 'task_ms' | 'boxes') =>
    runs.map((run) => run[name]);
  print({
    dataset,
    graph_ms: { median: median(column('graph_ms')), most: Math.max(...column('graph_ms')) },
    graph_cpu_ms: { median: median(column('graph_cpu_ms')), most: Math.max(...column('graph_cpu_ms')) },
    script_kb: Math.max(...runs.map((run) => run.script_kb)),
    frame_ms: { median: median(column('frame_ms')), most: Math.max(...column('frame_ms')) },
    frame_cpu_ms: { median: median(column('frame_cpu_ms')), most: Math.max(...column('frame_cpu_ms')) },
    task_ms: { median: median(column('task_ms')), most: Math.max(...column('task_ms')) },
    move_cpu_ms: Math.max(...runs.map((run) => run.move_cpu_ms)),
    level_ms: { p95: last95(runs.flatMap((run) => run.level_ms)) },
    level_cpu_ms: { p95: last95(runs.flatMap((run) => run.level_cpu_ms)) },
    boxes: Math.max(...column('boxes')),
    focus_in_sight: runs.every((run) => run.focus_in_sight),
  });
}
print({
  all: all.length,
  graph_ms: { median: median(all.map((run) => run.graph_ms)), most: Math.max(...all.map((run) => run.graph_ms)) },
  graph_cpu_ms: {
    median: median(all.map((run) => run.graph_cpu_ms)),
    most: Math.max(...all.map((run) => run.graph_cpu_ms)),
  },
  script_kb: Math.max(...all.map((run) => run.script_kb)),
  frame_ms: { median: median(all.map((run) => run.frame_ms)), most: Math.max(...all.map((run) => run.frame_ms)) },
  frame_cpu_ms: {
    median: median(all.map((run) => run.frame_cpu_ms)),
    most: Math.max(...all.map((run) => run.frame_cpu_ms)),
  },
  move_cpu_ms: Math.max(...all.map((run) => run.move_cpu_ms)),
  level_ms: { p95: last95(all.flatMap((run) => run.level_ms)) },
  level_cpu_ms: { p95: last95(all.flatMap((run) => run.level_cpu_ms)) },
});
await browser.close();
