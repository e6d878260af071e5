import { execFile } from 'node:child_process';
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';

const run = promisify(execFile);

let installed: Promise<string> | undefined;

/** Builds, packs and installs the npm package, as a user gets it. @returns the folder of the project that has it. */
export function installTypeScriptPackage(): Promise<string> {
  installed ??= install();
  return installed;
}

async function install(): Promise<string> {
  const project = await mkdtemp(join(inject('runFolder'), 'typescript-package-'));
  const source = join(project, 'package');
  await cp('sdk/typescript/package.json', join(source, 'package.json'));
  await cp('sdk/typescript/README.md', join(source, 'README.md'));
  await run(process.execPath, ['sdk/build.ts', join(source, 'dist')]);
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: source });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  await writeFile(join(project, 'package.json'), '{"private": true, "type": "module"}');
  const options = ['--no-audit', '--no-fund', '--offline', '--loglevel=error'];
  await run('npm', ['install', ...options, join(project, filename)], { cwd: project });
  return project;
}
