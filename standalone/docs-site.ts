import { cp, mkdir, writeFile } from 'node:fs/promises';
import { build, createServer } from 'vitepress';
import { openApiDocument } from '#api/http/openapi.ts';
import { routes } from '#api/routes.ts';

/**
 * `npm run docs:site` builds the documentation site in docs/.vitepress/dist. A dead link fails the build. With `--watch` it
 * serves the pages as they are written.
 */
const PUBLIC = 'docs/.vitepress/public';

await mkdir(PUBLIC, { recursive: true });
await writeFile(`${PUBLIC}/openapi.json`, JSON.stringify(openApiDocument(routes)));
await cp('console/public/assets/icon.svg', `${PUBLIC}/icon.svg`);
if (process.argv.includes('--watch')) {
  const server = await createServer('docs');
  await server.listen();
  server.printUrls();
} else await build('docs');
