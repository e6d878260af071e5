import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Catalog, PAGE_CATALOGS } from './catalogs.ts';
import { CONSOLE, DIST, filesIn, isBuilt, sourceHash, STAMP } from './sources.ts';

/*
 * Builds the console into `console/dist` unless it is there already.
 *
 * Usage: node console/build.ts
 */

/** Pages are measured in Spanish, whose texts are longer. */
const catalogFile = (name: Catalog): string => `locales/es/${name}.po`;

/** The most JavaScript, compressed, that a first visit to one of these pages loads, with what it loads by itself. */
const FIRST_LOAD_BYTES = 200_000;
const FIRST_PAGES: Record<string, string[]> = {
  'sign-in': ['pages/sign-in.tsx'],
  ...Object.fromEntries(
    Object.entries(PAGE_CATALOGS).map(([folder, catalogs]) => [
      folder,
      [`pages/${folder}/${folder}.tsx`, ...catalogs.map(catalogFile)],
    ]),
  ),
};
for (const page of ['campaign-page', 'segments'])
  FIRST_PAGES[page] = [`pages/campaigns/${page}.tsx`, ...PAGE_CATALOGS.campaigns.map(catalogFile)];
for (const page of ['home', 'analytics', 'compliance']) FIRST_PAGES[page]?.push('components/plot.tsx');

interface Build {
  fresh: boolean;
  /** Bytes of JavaScript by page, compressed with Brotli; empty if nothing was built. */
  firstLoad: Record<string, number>;
}

/**
 * Builds the console if its sources have changed since the last build.
 * @throws if it does not compile, or a first load is larger than it may be.
 */
async function buildConsole(): Promise<Build> {
  const hash = await sourceHash();
  if (await isBuilt(hash)) return { fresh: true, firstLoad: {} };
  const next = join(CONSOLE, `dist-${process.pid}`);
  try {
    // Loaded only now, because loading takes longer than finding out that nothing has changed.
    const { build } = await import('vite');
    await build({
      root: CONSOLE,
      configFile: join(CONSOLE, 'vite.config.ts'),
      logLevel: 'error',
      build: { outDir: next },
    });
    await compress(next);
    const firstLoad = await measure(next);
    for (const [page, bytes] of Object.entries(firstLoad)) {
      if (bytes > FIRST_LOAD_BYTES)
        throw new Error(`${page} loads ${bytes} bytes of JavaScript; the limit is ${FIRST_LOAD_BYTES}`);
    }
    await writeFile(join(next, STAMP), hash);
    await replace(next);
    return { fresh: false, firstLoad };
  } finally {
    await rm(next, { recursive: true, force: true });
  }
}

/** Compresses at build time what the API sends most. */
async function compress(folder: string): Promise<void> {
  const texts = (await filesIn(folder)).filter((file) => /\.(js|css|html|svg)$/.test(file));
  await Promise.all(
    texts.map(async (file) => {
      const content = await readFile(file);
      await writeFile(`${file}.br`, await brotli(content));
      await writeFile(`${file}.gz`, await promisify(gzip)(content));
    }),
  );
}

/** The smallest: 6 % less than at quality 9, for a second more of each build. */
const brotli = (content: Buffer): Promise<Buffer> =>
  promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });

interface Chunk {
  file: string;
  imports?: string[];
}

/** Adds up the script that the page starts with, the page's own, and all that they import. */
async function measure(folder: string): Promise<Record<string, number>> {
  const manifest = JSON.parse(await readFile(join(folder, '.vite/manifest.json'), 'utf8')) as Record<
    string,
    Chunk
  >;
  const collect = (name: string, found: Set<string>): Set<string> => {
    const chunk = manifest[name];
    if (!chunk) throw new Error(`${name} is not part of the build`);
    if (found.has(chunk.file)) return found;
    found.add(chunk.file);
    for (const imported of chunk.imports ?? []) collect(imported, found);
    return found;
  };
  const sizes: Record<string, number> = {};
  for (const [page, parts] of Object.entries(FIRST_PAGES)) {
    const loaded = ['index.html', catalogFile('shell'), ...parts].reduce(
      (found, part) => collect(part, found),
      new Set<string>(),
    );
    const lengths = await Promise.all(
      [...loaded].map(async (file) => (await readFile(join(folder, `${file}.br`))).length),
    );
    sizes[page] = lengths.reduce((sum, length) => sum + length, 0);
  }
  return sizes;
}

/** The API may read meanwhile: there is a moment without files, but never a mix of two builds. */
async function replace(next: string): Promise<void> {
  const previous = `${next}-previous`;
  if (existsSync(DIST)) await rename(DIST, previous);
  await rename(next, DIST);
  await rm(previous, { recursive: true, force: true });
}

// Even if the environment says otherwise: React has another build for development.
process.env['NODE_ENV'] = 'production';
const startedAt = performance.now();
const { fresh, firstLoad } = await buildConsole();
if (fresh) console.log('The console is up to date.');
else {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const sizes = Object.entries(firstLoad).map(([page, bytes]) => `${page} ${Math.round(bytes / 1000)} KB`);
  console.log(`Built the console in ${seconds} s; first load: ${sizes.join(', ')} of JavaScript.`);
}
