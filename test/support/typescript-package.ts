import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { alone } from '#test/setup/database.ts';

const run = promisify(execFile);

/**
 * Builds, packs and installs the npm package, as a user gets it, once per run.
 * @returns the folder of the project that has it.
 */
export async function installTypeScriptPackage(): Promise<string> {
  const project = join(inject('runFolder'), 'typescript-package');
  await alone('install the TypeScript package', async () => {
    if (!existsSync(join(project, 'node_modules/linepace'))) await install(project);
  });
  return project;
}

async function install(project: string): Promise<void> {
  const source = join(project, 'package');
  await mkdir(source, { recursive: true });
  await cp('sdk/typescript/package.json', join(source, 'package.json'));
  await cp('sdk/typescript/README.md', join(source, 'README.md'));
  await run(process.execPath, ['sdk/build.ts', join(source, 'dist')]);
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: source });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  await writeFile(join(project, 'package.json'), '{"private": true, "type": "module"}');
  const options = ['--no-audit', '--no-fund', '--offline', '--loglevel=error'];
  await run('npm', ['install', ...options, join(project, filename)], { cwd: project });
}
