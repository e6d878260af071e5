import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { writeProjectWithBlocks } from './doc-blocks.ts';
import { outdatedPages } from './generated-pages.ts';

interface Outcome {
  ok: boolean;
  output: string;
}

/** Static checks: types, lint, format, dead code, lock file, texts, generated pages. */
const CHECKS: Record<string, () => Promise<Outcome>> = {
  types: () => types('tsconfig.json'),
  // With the code blocks of the documentation that use them.
  "console's types": async () => types(await writeProjectWithBlocks('console')),
  "SDK's types": async () => types(await writeProjectWithBlocks('sdk')),
  "CLI's types": () => types('cli/tsconfig.json'),
  lint: () => run('oxlint'),
  format: () => run('oxfmt', '--check', '.'),
  'dead code': () => run('knip', '--no-progress'),
  'lock file': lockFileIsComplete,
  'generated pages': generatedPagesAreCurrent,
  // `npm run texts` writes them.
  'catalogs of texts': () => run('lingui', 'check', 'sync', '--clean'),
  translations: () => run('lingui', 'check', 'missing'),
};

/** Incremental: checks only what has changed since the last run. */
function types(project: string): Promise<Outcome> {
  const buildInfo = `node_modules/.cache/${project}.tsbuildinfo`;
  return run(
    'tsc',
    '-p',
    project,
    '--noEmit',
    '--pretty',
    'false',
    '--incremental',
    '--tsBuildInfoFile',
    buildInfo,
  );
}

function run(program: string, ...args: string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(`node_modules/.bin/${program}`, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ ok: code === 0, output }));
  });
}

async function generatedPagesAreCurrent(): Promise<Outcome> {
  const outdated = await outdatedPages();
  return { ok: outdated.length === 0, output: `run \`npm run docs\`: ${outdated.join(', ')} out of date` };
}

/**
 * The lock file must contain no registry URLs, which would tie every install to one registry, and must list the optional
 * packages of all platforms, because `npm ci` rejects an incomplete one.
 */
async function lockFileIsComplete(): Promise<Outcome> {
  const lock = await readFile('package-lock.json', 'utf8');
  const { packages } = JSON.parse(lock) as { packages: Record<string, { optionalDependencies?: object }> };
  const problems = lock.split('\n').filter((line) => line.includes('"resolved"'));
  for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
    for (const name of Object.keys(optionalDependencies)) {
      const nested = `${path}/node_modules/${name}`;
      const found = nested in packages || `node_modules/${name}` in packages;
      if (!found) problems.push(`${path} depends on ${name}, which is missing`);
    }
  }
  return { ok: problems.length === 0, output: problems.slice(0, 10).join('\n') };
}

const outcomes = await Promise.all(
  Object.entries(CHECKS).map(async ([name, check]) => {
    const started = performance.now();
    const { ok, output } = await check();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${ok ? '✓' : '✗'} ${name} (${seconds} s)`);
    if (!ok) console.log(output.trimEnd());
    return ok;
  }),
);
process.exitCode = outcomes.every(Boolean) ? 0 : 1;
