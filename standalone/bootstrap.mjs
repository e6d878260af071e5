/*
 * The first process of every npm script: plain JavaScript for whatever Node (20 or later) npm runs on, with nothing
 * installed yet. It installs the dependencies when they are missing or not those of the lock file, then runs the task with
 * the Node that is one of them, so that every machine runs the same version.
 *
 * Usage: node standalone/bootstrap.mjs <start|build|dev-console|test|check|demo> [arguments…]
 *        node standalone/bootstrap.mjs run <file.ts> [arguments…]
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OLDEST_NODE = 24;
const TASKS = {
  start: ['standalone/main.ts'],
  demo: ['examples/demo.ts'],
  build: ['console/build.ts'],
  'dev-console': ['node_modules/vite/bin/vite.js', 'console'],
  check: ['standalone/check.ts'],
  test: ['node_modules/vitest/vitest.mjs', 'run'],
  run: [],
};

const [task, ...args] = process.argv.slice(2);
if (!Object.hasOwn(TASKS, task ?? '')) {
  console.error(`Usage: node standalone/bootstrap.mjs <${Object.keys(TASKS).join('|')}> [arguments…]`);
  process.exit(2);
}
if (Number(process.versions.node.split('.')[0]) < 20) {
  console.error(`Node 20 or later is needed; this is ${process.version}.`);
  process.exit(1);
}
process.chdir(ROOT);
if (dependenciesAreStale()) await install();
await runTask();

/** Compares by content what is installed with what the lock file wants: a checkout gives files new times. */
function dependenciesAreStale() {
  const packagesOf = (file) => JSON.parse(readFileSync(join(ROOT, file), 'utf8')).packages;
  const installedFile = 'node_modules/.package-lock.json';
  // npm writes this file when an installation is complete.
  if (!existsSync(join(ROOT, installedFile))) return true;
  const installed = packagesOf(installedFile);
  // Optional packages are those of other platforms, for the most part.
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
  // npm_execpath is the npm that runs this script; called with node directly, it is the one on the PATH.
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
    // The tools that the task starts by name run on the same Node.
    env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Ctrl-C in a terminal reaches the child by itself; a second one would mean "at once".
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  watchNpm(child);
  const { code, signal } = await ended(child);
  process.exit(signal === null ? code : 1);
}

/** The Node of the dependencies; where its install script did not run, this one if it is new enough. */
function currentNode() {
  const installed = join(ROOT, 'node_modules/node/bin/node');
  if (existsSync(installed)) return installed;
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) return process.execPath;
  console.error(
    `Node ${OLDEST_NODE} is needed; this is ${process.version}, and node_modules/node/bin/node is missing. ` +
      'Are install scripts switched off (npm config get ignore-scripts)?',
  );
  process.exit(1);
}

/**
 * An npm that was killed outright tells nobody: its death is noticed by a look at its pid. Between npm and this process
 * stands a shell, or nothing where the shell has replaced itself with its only command.
 */
function watchNpm(child) {
  if (!process.env.npm_lifecycle_event) return;
  const watched = [process.ppid];
  const { parent, command } = look(process.ppid);
  if (/^\S*sh -c /.test(command)) watched.push(parent);
  const timer = setInterval(() => {
    if (process.ppid === watched[0] && watched.every(isAlive)) return;
    clearInterval(timer);
    child.kill('SIGTERM');
  }, 1000);
  timer.unref();
}

function look(pid) {
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
