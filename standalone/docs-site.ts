import { mkdir, writeFile } from 'node:fs/promises';
import { build } from 'vitepress';
import { openApiDocument } from '#api/http/openapi.ts';
import { routes } from '#api/routes.ts';

/** `npm run docs:site`: builds the documentation site in docs/.vitepress/dist. A dead link fails the build. */
const PUBLIC = 'docs/.vitepress/public';

await mkdir(PUBLIC, { recursive: true });
await writeFile(`${PUBLIC}/openapi.json`, JSON.stringify(openApiDocument(routes)));
await build('docs');
