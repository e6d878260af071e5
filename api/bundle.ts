import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/*
 * Bundles the API process into `api/dist/server.js`, because finding and reading 1,200 modules takes longer than all else at its
 * start. `node api/server.ts` runs the same from the sources. Stack traces name functions, and with
 * `NODE_OPTIONS=--enable-source-maps` also files and lines of the sources, for 90 MB from the first error on.
 *
 * Usage: node api/bundle.ts
 */
const placeOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const ENTRY = placeOf('server.ts');
const DIST = placeOf('dist/');

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const bundle = await rolldown({
  input: ENTRY,
  cwd: placeOf('..'),
  platform: 'node',
  // An optional part of `pg`, which is not installed.
  external: ['pg-native'],
  checks: { eval: false },
  plugins: [
    {
      name: 'files beside the sources',
      transform(code, id) {
        if (!code.includes('import.meta.')) return null;
        const source = `new URL(${JSON.stringify(relative(DIST, id))}, import.meta.url).href`;
        const placed = code.replaceAll('import.meta.url', source);
        return { code: id === ENTRY ? placed : placed.replaceAll('import.meta.main', 'false'), map: null };
      },
    },
    {
      // `asciiOnly` leaves these templates as they are. Each is a pattern, in which an escape is the same.
      name: 'letters of patterns',
      transform: (code) =>
        code.includes('String.raw')
          ? { code: code.replaceAll(/[\u0080-\uffff]/g, escaped), map: null }
          : null,
    },
  ],
});
await bundle.write({
  dir: DIST,
  entryFileNames: '[name].js',
  cleanDir: true,
  sourcemap: true,
  sourcemapExcludeSources: true,
  // A process keeps the text of its code, with two bytes for each letter if one is beyond ASCII. Names stay, for stack traces.
  minify: { mangle: false, compress: false, codegen: { asciiOnly: true } },
  comments: { legal: false },
});
await bundle.close();
