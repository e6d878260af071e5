import { spawnSync } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ERRORS } from '#api/http/errors.ts';
import { methodsOf, sdkSource } from './openapi.ts';

/** As in the group `generate` of sdk/python/pyproject.toml. */
const DATAMODEL_GENERATOR = 'datamodel-code-generator==0.89.0';

/** Generates the SDKs from the routes. Each SDK has its own generator, because each has dependencies of its own. */
const { document, idempotent, digest } = sdkSource();
const folder = await mkdtemp(join(tmpdir(), 'linepace-sdk-'));
const input = join(folder, 'openapi.json');
await writeFile(input, JSON.stringify(document));
const facts = { digest, idempotent, errorCodes: Object.keys(ERRORS).toSorted() };
await writeFile(join(folder, 'facts.json'), JSON.stringify(facts));
await writeFile(join(folder, 'methods.json'), JSON.stringify(methodsOf(document)));

run('sdk/typescript', 'npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error');
run('sdk/typescript', process.execPath, 'generate.ts', folder);

const venv = join(folder, 'venv');
run('sdk/python', 'python3', '-m', 'venv', venv);
run('sdk/python', join(venv, 'bin/pip'), 'install', '--quiet', DATAMODEL_GENERATOR);
run('sdk/python', join(venv, 'bin/python'), 'generate.py', folder);

function run(cwd: string, program: string, ...args: string[]): void {
  const { status, error } = spawnSync(program, args, { cwd, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed in ${cwd}`, { cause: error });
}
