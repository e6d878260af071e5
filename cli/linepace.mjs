#!/usr/bin/env node
// Runs the command line from a clone of the repository. The published package has it bundled, with the SDK.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const { version } = JSON.parse(readFileSync(path('../package.json'), 'utf8'));
const { status } = spawnSync(
  process.execPath,
  [path('../standalone/bootstrap.mjs'), 'run', path('main.ts'), ...process.argv.slice(2)],
  { stdio: 'inherit', env: { ...process.env, LINEPACE_FOLDER: process.cwd(), LINEPACE_VERSION: version } },
);
process.exitCode = status ?? 1;
