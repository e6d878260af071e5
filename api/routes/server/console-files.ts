import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from 'koa';
import send from 'koa-send';

/** The output of `npm run build`. */
const DIST = fileURLToPath(new URL('../../../console/dist', import.meta.url));

const YEAR_MS = 365 * 86_400_000;

/**
 * Only files of this server, and its API. Attachments have signed links at `PUBLIC_URL`, which may be another origin than
 * the one the console was opened at.
 */
function contentSecurityPolicy(publicUrl: string): string {
  const files = `'self' ${new URL(publicUrl).origin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    `img-src ${files} blob:`,
    `media-src ${files} blob:`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/** Sends the page that serves every URL of the console. */
export async function sendConsole(context: Context, publicUrl: string): Promise<void> {
  context.set({
    'Content-Security-Policy': contentSecurityPolicy(publicUrl),
    Vary: 'Accept-Encoding',
  });
  if (!existsSync(join(DIST, 'index.html'))) {
    context.status = 503;
    context.type = 'html';
    context.body = NOT_BUILT;
    return;
  }
  await send(context, 'index.html', { root: DIST });
  // Each build refers to other files.
  context.set('Cache-Control', 'no-cache');
}

/**
 * Sends a file of the build, compressed if the client accepts it.
 * @returns false if there is no such file.
 */
export async function sendConsoleAsset(context: Context, name: string): Promise<boolean> {
  // Only file names of the build, without directories and without the compressed copies.
  if (!/^[\w-]+(\.[\w-]+)*\.(js|css|woff2?|svg|png)$/.test(name)) return false;
  const path = join('assets', name);
  if (!existsSync(join(DIST, path))) return false;
  context.set('Vary', 'Accept-Encoding');
  await send(context, path, { root: DIST, ...(HASHED.test(name) && { maxage: YEAR_MS, immutable: true }) });
  return true;
}

/** The name contains a hash, so the content never changes. */
const HASHED = /-[\w-]{8}\.\w+$/;

const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>The console is not built</title>
  </head>
  <body>
    <h1>The console is not built</h1>
    <p>Run <code>npm run build</code>, then reload this page. <code>npm start</code> does it by itself.</p>
  </body>
</html>
`;
