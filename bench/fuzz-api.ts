/*
 * Sends generated requests to the API and compares every response with the OpenAPI document: no status that is not in
 * it, no body outside its schema, and of 5xx only 501, 502 and 503. Schemathesis makes the requests, valid ones and
 * hostile ones, with a workspace key, an agency key and the session of an owner.
 *
 * Usage: npm run fuzz:api [-- REQUESTS [SEED]]
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '#db/pool.ts';
import { createDemo } from '#standalone/demo-data.ts';
import { startProduct } from './product.ts';

const VERSION = '4.32.5';
const FOLDER = resolve(process.env['DATA_DIR'] ?? '.data', 'fuzz');
const CONFIG_FILE = join(FOLDER, 'schemathesis.toml');
const CONFIG = `
[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501, 502, 503]

[phases.coverage]
generate-duplicate-query-parameters = true
unexpected-methods = []
`;
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];
/** Requests that one run makes of each operation; the first run of a credential tries every boundary value as well. */
const EXAMPLES = 40;

/** What is read of Schemathesis' report. */
const Report = z.object({
  test_cases: z.object({ generated: z.int(), with_failures: z.int(), errored: z.int() }),
});

let running: ChildProcess | undefined;

/** Schemathesis in a Python environment of its own; installed by the first run. */
function installed(): string {
  const bin = join(FOLDER, 'venv', 'bin');
  const program = join(bin, 'schemathesis');
  const version = existsSync(program) ? spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout : '';
  if (version.includes(VERSION)) return program;
  console.log(`Installing Schemathesis ${VERSION} into ${join(FOLDER, 'venv')}: about a minute, once …`);
  command('python3', ['-m', 'venv', join(FOLDER, 'venv')]);
  command(join(bin, 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]);
  return program;
}

function command(program: string, args: string[]): void {
  const { error, status } = spawnSync(program, args, { stdio: 'inherit' });
  if (error && 'code' in error && error.code === 'ENOENT')
    throw new Error(`${program} is missing: generated requests need Python 3.10 or later, with venv`);
  if (error || status !== 0) throw new Error(`${program} ${args.join(' ')} failed`);
}

async function fuzz(program: string, url: string, credential: string, seed: number, phases: string) {
  const report = join(FOLDER, 'report.json');
  const options = {
    url,
    header: `Authorization: Bearer ${credential}`,
    phases,
    checks: CHECKS.join(','),
    'max-examples': EXAMPLES,
    workers: 2,
    seed,
    'suppress-health-check': 'all',
    warnings: 'off',
    report: 'json',
    'report-json-path': report,
  };
  const flags = ['--no-shrink', '--continue-on-failure', '--no-color'];
  const named = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const args = ['--config-file', CONFIG_FILE, 'run', `${url}/openapi.json`, ...named, ...flags];
  running = spawn(program, args, { stdio: 'inherit' });
  await once(running, 'exit');
  return Report.parse(JSON.parse(readFileSync(report, 'utf8'))).test_cases;
}

const [requests = 50_000, firstSeed = Math.floor(Math.random() * 1e9)] = process.argv.slice(2).map(Number);
mkdirSync(FOLDER, { recursive: true });
writeFileSync(CONFIG_FILE, CONFIG);
const schemathesis = installed();
const product = await startProduct(1, { failedAttemptsPerMinute: 1_000_000 });
// Limits are counted anew all the time: nearly every request would end at them otherwise.
const amnesty = setInterval(() => {
  void systemDb(product.pools)
    .query(sql.type(z.unknown())`delete from rate_limits`)
    .catch(() => {});
}, 250);
process.once('SIGINT', () => running?.kill('SIGINT'));

let generated = 0;
let failed = 0;
try {
  const url = product.config.publicUrl;
  for (let round = 0; generated < requests; round++) {
    for (const credential of ['workspaceKey', 'agencyKey', 'sessionToken'] as const) {
      // A world of its own: what one run deletes or revokes the next one would miss.
      const demo = await createDemo(product.config, { temporalUiUrl: '', databaseUrl: '' });
      const phases = round === 0 ? 'examples,coverage,fuzzing,stateful' : 'fuzzing,stateful';
      const seed = firstSeed + round;
      console.log(`\n${credential}, seed ${seed}, ${generated} of ${requests} requests so far`);
      const cases = await fuzz(schemathesis, url, demo[credential], seed, phases);
      generated += cases.generated;
      failed += cases.with_failures + cases.errored;
      if (generated >= requests) break;
    }
  }
} finally {
  clearInterval(amnesty);
  await product.stop();
}
console.log(`\n${generated} generated requests, ${failed} failed (seed ${firstSeed})`);
process.exitCode = failed === 0 ? 0 : 1;
