/**
 * The development world as a server: `npm run fixture`, then `npm run dev`. EMPTY=1 shows the page before any data, DELAY=1500
 * makes every answer late. It also serves the built page, under the content security policy of the product.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createFixture } from './schema.ts';

const fixture = createFixture({ empty: process.env.EMPTY === '1' });
const port = Number(process.env.PORT ?? 5180);
const delay = Number(process.env.DELAY ?? 0);
const page = new URL('../../backend/page/', import.meta.url);
const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

createServer(async (request, response) => {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  if (path === '/graphql') {
    await wait(delay);
    return fixture(request, response);
  }
  try {
    const file = new URL(`.${path === '/' ? '/index.html' : path}`, page);
    const body = await readFile(file);
    response
      .writeHead(200, {
        'content-type': types[extname(file.pathname)] ?? 'application/octet-stream',
        'content-security-policy': policy,
      })
      .end(body);
  } catch {
    response.writeHead(404).end();
  }
}).listen(port, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${port}\n`));
