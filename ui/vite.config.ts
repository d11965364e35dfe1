import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

/** Where `npm run dev` finds GraphQL: the fixture server of dev/, or a real service. */
const service = process.env.HEADWATER_URL ?? 'http://127.0.0.1:5180';

export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    outDir: '../backend/page',
    emptyOutDir: true,
    sourcemap: false,
    // The service's content security policy allows no data: fonts or scripts, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { host: '127.0.0.1', port: 5179, proxy: { '/graphql': service } },
  test: {
    environment: 'node',
    globals: true,
    include: ['src/**/*.test.{ts,tsx}'],
    css: false,
    testTimeout: 60_000,
  },
});
