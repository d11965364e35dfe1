import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** Where `npm run dev` finds GraphQL: the fixture server of dev/, or a real service. */
const service = process.env.HEADWATER_URL ?? 'http://127.0.0.1:5180';

/** Fonts come in through style sheets, where Vite does not look for licences. */
function fontLicenses(...fonts: string[]): Plugin {
  return {
    name: 'font-licenses',
    generateBundle() {
      const texts = fonts.map((font) =>
        readFileSync(join(import.meta.dirname, 'node_modules', font, 'LICENSE'), 'utf8'),
      );
      this.emitFile({ type: 'asset', fileName: 'licenses-fonts.txt', source: texts.join('\n\n') });
    },
  };
}

/** The service sends these files as they are. Packing a script for each browser would take longer than sending it. */
function packedFiles(): Plugin {
  return {
    name: 'packed-files',
    writeBundle({ dir }, bundle) {
      for (const name of Object.keys(bundle).filter((file) => /\.(js|css|svg)$/.test(file))) {
        const content = readFileSync(join(dir ?? '', name));
        writeFileSync(join(dir ?? '', `${name}.br`), brotliCompressSync(content));
        writeFileSync(join(dir ?? '', `${name}.gz`), gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  base: './',
  plugins: [react(), fontLicenses('@fontsource-variable/inter', '@fontsource-variable/jetbrains-mono'), packedFiles()],
  build: {
    outDir: '../backend/page',
    emptyOutDir: true,
    // The service's content security policy allows no data: fonts or scripts, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Two scripts: the page, and its graphs. They come from this machine or the next rack.
    chunkSizeWarningLimit: 400,
    license: { fileName: 'licenses.md' },
  },
  server: { host: '127.0.0.1', port: 5179, proxy: { '/graphql': service } },
  test: {
    environment: 'node',
    globals: true,
    include: ['src/**/*.test.{ts,tsx}'],
    css: false,
    // Longer than the limit of one wait in dev/dom.ts, which says what a test waited for.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 120_000,
  },
});
