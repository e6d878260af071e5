import { execFileSync } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openApiDocument } from '#api/http/openapi.ts';
import { routes } from '#api/routes.ts';

/**
 * `npm run docs:site` installs VitePress and builds the documentation site in docs/.vitepress/dist. A dead link fails the build. With
 * `--watch` it serves the pages as they are written.
 */
const SITE = 'docs/.vitepress';
const PUBLIC = `${SITE}/public`;

await mkdir(PUBLIC, { recursive: true });
await writeFile(`${PUBLIC}/openapi.json`, JSON.stringify(openApiDocument(routes)));
await cp('console/public/assets/icon.svg', `${PUBLIC}/icon.svg`);
execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--prefix', SITE], { stdio: 'inherit' });
const program = resolve(SITE, 'node_modules/vitepress/bin/vitepress.js');
execFileSync(process.execPath, [program, process.argv.includes('--watch') ? 'dev' : 'build', 'docs'], {
  stdio: 'inherit',
});
