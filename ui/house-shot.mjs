import { chromium } from '@playwright/test';
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const out = process.env.OUT, name = process.env.NAME;
const ctx = await b.newContext({ viewport: { width: 1280, height: 800 } });
const p = await ctx.newPage();
p.on('pageerror', (e) => console.log('PAGEERROR', e.message)); p.on('console', (m) => m.type() === 'error' && console.log('CONSOLE', m.text()));
await p.goto(process.env.LINK); await p.waitForTimeout(2000);
const base = new URL(process.env.LINK).origin;
for (const [n, q] of JSON.parse(process.env.PAGES)) for (const w of [1280, 420]) {
  await p.setViewportSize({ width: w, height: 800 });
  await p.goto(base + q); await p.waitForTimeout(2500);
  await p.screenshot({ path: `${out}/${name}-${n}-${w}.png` });
  const over = await p.evaluate(() => [document.documentElement.scrollWidth, innerWidth, document.title]);
  const tabs = [];
  for (let i = 0; i < 14; i++) { await p.keyboard.press('Tab'); tabs.push(await p.evaluate(() => { const e = document.activeElement; const s = e && getComputedStyle(e); return e ? `${e.tagName}:${(e.getAttribute('aria-label') || e.textContent || '').slice(0, 22)}${s.outlineStyle === 'none' && s.boxShadow === 'none' ? ' NOFOCUS' : ''}` : ''; })); }
  console.log(n, w, JSON.stringify(over), tabs.join(' | '));
}
await b.close();
