/*
 * Sends generated requests to the API and checks every response against the OpenAPI document: only documented statuses,
 * only bodies that match the schema, and of 5xx only 501, 502 and 503. Schemathesis generates valid and hostile requests
 * with a workspace key, an agency key and an owner's session; the output of each run is in .data/fuzz.
 *
 * Usage: npm run prove -- fuzz-api [REQUESTS [SEED]]
 * REQUESTS (default 50000) is a minimum: the first round alone tries about 12,000 boundary values.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '../../db/connection/transactions.ts';
import type { Config } from '../../domain/base/config.ts';
import { createDemo } from '../../standalone/demo-data.ts';
import { startProduct } from '../bench/support/product.ts';

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

/** The part of Schemathesis' report that is read. */
const Report = z.object({
  test_cases: z.object({ generated: z.int(), with_failures: z.int(), errored: z.int() }),
});

/** Installs Schemathesis into its own Python environment on the first run. @returns the path of its program. */
function installSchemathesis(): string {
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
    throw new Error(`${program} is missing: generated requests require Python 3.10 or later with venv`);
  if (error || status !== 0) throw new Error(`${program} ${args.join(' ')} failed`);
}

type Credential = 'workspaceKey' | 'agencyKey' | 'sessionToken';

/** One run with its own demo workspace and folder, so that it deletes or revokes nothing that another run needs. */
async function fuzz(program: string, config: Config, credential: Credential, seed: number, phases: string) {
  const demo = await createDemo(config, { temporalUiUrl: '', databaseUrl: '' });
  const folder = join(FOLDER, credential);
  mkdirSync(folder, { recursive: true });
  const [report, log] = [join(folder, 'report.json'), join(folder, 'output.txt')];
  const options = {
    url: config.publicUrl,
    header: `Authorization: Bearer ${demo[credential]}`,
    phases,
    checks: CHECKS.join(','),
    'max-examples': examples,
    // Its workers are threads, with which Hypothesis crashes on some versions of Python.
    workers: 1,
    seed,
    // Its response does not end.
    'exclude-operation-id': 'streamEvents',
    'suppress-health-check': 'all',
    warnings: 'off',
    report: 'json',
    'report-json-path': report,
  };
  const flags = ['--no-shrink', '--continue-on-failure', '--no-color'];
  const named = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const args = ['--config-file', CONFIG_FILE, 'run', `${config.publicUrl}/openapi.json`, ...named, ...flags];
  const output = openSync(log, 'w');
  const [status] = await once(
    spawn(program, args, { cwd: folder, stdio: ['ignore', output, output] }),
    'exit',
  );
  closeSync(output);
  const { generated, with_failures, errored } = Report.parse(
    JSON.parse(readFileSync(report, 'utf8')),
  ).test_cases;
  // If no request failed, the run itself did.
  const failed = with_failures + errored || (status === 0 ? 0 : 1);
  console.log(`${credential}, seed ${seed}: ${generated} requests, ${failed} failed`);
  if (failed > 0) console.log(readFileSync(log, 'utf8'));
  return { generated, failed };
}

const [requests = 50_000, firstSeed = Math.floor(Math.random() * 1e9)] = process.argv.slice(2).map(Number);
/** Requests that one run generates per operation. */
const examples = Math.min(40, Math.ceil(requests / 1000));
mkdirSync(FOLDER, { recursive: true });
writeFileSync(CONFIG_FILE, CONFIG);
const schemathesis = installSchemathesis();
const product = await startProduct(1, { failedAttemptsPerMinute: 1_000_000 });
// Resets the rate limits, which would refuse nearly every request otherwise.
const rateLimitReset = setInterval(() => {
  void systemDb(product.pools)
    .query(sql.type(z.unknown())`delete from rate_limits`)
    .catch(() => {});
}, 250);

let generated = 0;
let failed = 0;
try {
  for (let round = 0; generated < requests; round++) {
    const phases = round === 0 ? 'examples,coverage,fuzzing,stateful' : 'fuzzing,stateful';
    const runs = await Promise.all(
      (['workspaceKey', 'agencyKey', 'sessionToken'] as const).map((credential) =>
        fuzz(schemathesis, product.config, credential, firstSeed + round, phases),
      ),
    );
    for (const run of runs) {
      generated += run.generated;
      failed += run.failed;
    }
  }
} finally {
  clearInterval(rateLimitReset);
  await product.stop();
}
console.log(`${generated} generated requests, ${failed} failed (seed ${firstSeed})`);
process.exitCode = failed === 0 ? 0 : 1;
