import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'vite';

/**
 * Builds the npm package: the SDK, and the command line bundled with what it imports, so that both have no dependencies.
 *
 * Usage: node sdk/build.ts [folder]
 */
const [outDir = 'sdk/typescript/dist'] = process.argv.slice(2);
const { status } = spawnSync('node_modules/.bin/tsc', ['-p', 'sdk/typescript', '--outDir', outDir], {
  stdio: 'inherit',
});
if (status !== 0) throw new Error('tsc failed');

const { version } = JSON.parse(readFileSync('sdk/typescript/package.json', 'utf8')) as { version: string };
await build({
  configFile: false,
  logLevel: 'warn',
  define: { 'process.env.LINEPACE_VERSION': JSON.stringify(version) },
  ssr: { noExternal: true },
  build: {
    ssr: 'cli/main.ts',
    target: 'node20',
    outDir: resolve(outDir),
    emptyOutDir: false,
    rollupOptions: { output: { entryFileNames: 'cli.js', banner: '#!/usr/bin/env node' } },
  },
});
