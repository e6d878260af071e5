/*
 * The first process of every npm script. It is plain JavaScript without dependencies, so it runs on any Node from 20 on. It
 * installs the dependencies if they are missing or differ from the lock file, then runs the task with the Node version
 * that is one of them.
 *
 * Usage: node standalone/bootstrap.mjs <start|build|dev-console|test|test-unit|test-system|check|texts|demo> [arguments…]
 *        node standalone/bootstrap.mjs run <file.ts> [arguments…]
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OLDEST_NODE = 24;
const VITEST = ['node_modules/vitest/vitest.mjs', 'run'];
const TASKS = {
  start: ['standalone/main.ts'],
  demo: ['examples/demo.ts'],
  build: ['standalone/build.ts'],
  'dev-console': ['node_modules/vite/bin/vite.js', 'console'],
  check: ['standalone/check.ts'],
  texts: ['node_modules/@lingui/cli/dist/lingui.js', 'extract', '--clean'],
  test: [...VITEST, '--project=unit', '--project=integration'],
  'test-unit': [...VITEST, '--project=unit'],
  'test-system': [...VITEST, '--project=system'],
  run: [],
};

const [task, ...args] = process.argv.slice(2);
if (!Object.hasOwn(TASKS, task ?? '')) {
  console.error(`Usage: node standalone/bootstrap.mjs <${Object.keys(TASKS).join('|')}> [arguments…]`);
  process.exit(2);
}
if (Number(process.versions.node.split('.')[0]) < 20) {
  console.error(`Node 20 or later is required; this is ${process.version}.`);
  process.exit(1);
}
process.chdir(ROOT);
if (dependenciesAreStale()) await install();
await runTask();

/** Compares versions and not modification times, which a checkout changes. */
function dependenciesAreStale() {
  const packagesOf = (file) => JSON.parse(readFileSync(join(ROOT, file), 'utf8')).packages;
  const installedFile = 'node_modules/.package-lock.json';
  // npm writes this file at the end of an installation.
  if (!existsSync(join(ROOT, installedFile))) return true;
  const installed = packagesOf(installedFile);
  // A missing optional package is usually for another platform.
  return Object.entries(packagesOf('package-lock.json')).some(
    ([path, { version, optional }]) =>
      path !== '' && version !== installed[path]?.version && !(optional && !installed[path]),
  );
}

async function install() {
  console.log('Installing the dependencies (npm ci): about a minute, once …');
  const started = Date.now();
  const elapsed = () => `${Math.round((Date.now() - started) / 1000)} s`;
  const timer = setInterval(() => console.log(`  still installing, ${elapsed()}`), 15_000);
  // npm_execpath is the npm that runs this script; without it, the one on the PATH is used.
  const npm = process.env.npm_execpath;
  const [command, prefix] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  const { code } = await ended(
    spawn(command, [...prefix, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], { stdio: 'inherit' }),
  );
  clearInterval(timer);
  if (code !== 0) {
    console.error(`npm ci failed (exit code ${code}) after ${elapsed()}.`);
    process.exit(1);
  }
  console.log(`Dependencies installed in ${elapsed()}.`);
}

async function runTask() {
  const node = currentNode();
  const child = spawn(node, [...TASKS[task], ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    // The command line takes the names of files relative to the caller's folder.
    cwd: process.env.LINEPACE_FOLDER,
    // Tools that the task starts by name run on the same Node.
    env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // The terminal also sends Ctrl-C to the child, and a second one would stop it immediately.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  watchNpm(child);
  const { code, signal } = await ended(child);
  process.exit(signal === null ? code : 1);
}

/** The Node of the dependencies; if its install script did not run, this one if it is new enough. */
function currentNode() {
  const installed = join(ROOT, 'node_modules/node/bin/node');
  if (existsSync(installed)) return installed;
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) return process.execPath;
  console.error(
    `Node ${OLDEST_NODE} is required; this is ${process.version}, and node_modules/node/bin/node is missing. ` +
      'Are install scripts disabled (npm config get ignore-scripts)?',
  );
  process.exit(1);
}

/**
 * Stops the task if npm is killed with SIGKILL, which is only noticeable by polling its pid. npm is the parent of this
 * process, or the grandparent if a shell is in between.
 */
function watchNpm(child) {
  if (!process.env.npm_lifecycle_event) return;
  const watched = [process.ppid];
  const { parent, command } = inspect(process.ppid);
  if (/^\S*sh -c /.test(command)) watched.push(parent);
  const timer = setInterval(() => {
    if (process.ppid === watched[0] && watched.every(isAlive)) return;
    clearInterval(timer);
    child.kill('SIGTERM');
  }, 1000);
  timer.unref();
}

function inspect(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'ppid=', '-o', 'command=', '-p', String(pid)], {
    encoding: 'utf8',
  });
  const [, parent, command] = /^\s*(\d+)\s+(.*)/.exec(stdout ?? '') ?? [];
  return { parent: Number(parent), command: command ?? '' };
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function ended(child) {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(error.message);
      resolve({ code: 1, signal: null });
    });
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}
