import { defineConfig } from '@playwright/test';

/** The service that test_page.py has started, and the link that opens its page once. */
const service = process.env.HEADWATER_E2E_SERVICE ?? 'http://127.0.0.1:8765';

export default defineConfig({
  testDir: '.',
  outputDir: '../../build/e2e',
  globalSetup: './openPage.ts',
  // One browser on a machine that also runs Spark.
  workers: 1,
  timeout: 300_000,
  expect: { timeout: 90_000 },
  reporter: [['line']],
  use: {
    actionTimeout: 90_000,
    baseURL: service,
    storageState: process.env.HEADWATER_E2E_SESSION ?? '../../build/e2e-session.json',
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    // The contrast of a card that fades in depends on the moment.
    contextOptions: { reducedMotion: 'reduce' },
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      // Chromium's own sandbox does not work as root, as in most containers.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    },
  },
});
