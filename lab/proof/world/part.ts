import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Where the programs are that a proof has installed. */
export const FOLDER = resolve(process.env['DATA_DIR'] ?? '.data', 'world');
const START_MS = 60_000;

/** Prints whether something holds. @param seen printed if it does not. */
export type Check = (title: string, holds: boolean, seen?: unknown) => void;

interface RealPart<Found extends { version: string }> {
  name: string;
  /** Finds the real software, or installs it. @returns why there is none, if there is none. */
  find(): Promise<Found | string> | Found | string;
  prove(found: Found, check: Check): Promise<void>;
}

/** The last line of a proof, which `lab/proof/world.ts` reads. */
export const RESULT = /^(holds|fails|skipped): (\S+)(?: (.*))?$/;

/** Runs the product against a real part. The process fails if something does not hold, and not if it is skipped. */
export async function provePart<Found extends { version: string }>({
  name,
  find,
  prove,
}: RealPart<Found>): Promise<void> {
  const found = await find();
  if (typeof found === 'string') return conclude('skipped', name, found);
  let [held, failed] = [0, 0];
  await prove(found, (title, holds, seen) => {
    console.log(
      `${holds ? '✓' : '✗'} ${title}${holds || seen === undefined ? '' : `: ${JSON.stringify(seen).slice(0, 1500)}`}`,
    );
    if (holds) held += 1;
    else failed += 1;
  });
  conclude(
    failed === 0 && held > 0 ? 'holds' : 'fails',
    name,
    `${found.version}, ${held} of ${held + failed} checks`,
  );
}

/** Prints the last line of a proof. */
export function conclude(result: 'holds' | 'fails' | 'skipped', name: string, details: string): void {
  console.log(`${result}: ${name} ${details}`);
  if (result === 'fails') process.exitCode = 1;
}

/** A program of a Go module, which is built if it is missing. @returns null if it cannot be. */
export function goProgram(module: string, version: string): string | null {
  const folder = join(FOLDER, 'go', version);
  const program = join(folder, module.split('/').at(-1) ?? '');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync('go', ['install', `${module}@${version}`], {
    env: { ...process.env, GOBIN: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return status === 0 ? program : null;
}

/** A program of a Debian package, which root installs if it is missing. @returns null if it cannot be. */
export function debianProgram(path: string, packages: readonly string[]): string | null {
  if (existsSync(path)) return path;
  if (process.getuid?.() !== 0) return null;
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', ...packages], {
    // Without a runlevel no service is started.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return existsSync(path) ? path : null;
}

/** A folder with npm packages. @returns null if they cannot be installed. */
export function npmPackages(name: string, packages: readonly string[]): string | null {
  const folder = join(FOLDER, 'npm', name);
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--prefix', folder, ...packages],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  return status === 0 ? join(folder, 'node_modules') : null;
}

/** A file of Maven Central. @returns null if it cannot be downloaded. */
export function mavenFile(artifact: string): string | null {
  const [, name = '', version = '', type = 'jar'] = artifact.split(':');
  const file = join(FOLDER, `${name}-${version}.${type}`);
  if (existsSync(file)) return file;
  mkdirSync(FOLDER, { recursive: true });
  spawnSync(
    'mvn',
    [
      '-q',
      '-B',
      'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy',
      `-Dartifact=${artifact}`,
      `-DoutputDirectory=${FOLDER}`,
    ],
    // Where there is no project, Maven leaves its marks in the current folder.
    { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  return existsSync(file) ? file : null;
}

export interface Running {
  process: ChildProcess;
  /** @param signal default: SIGKILL. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server, with its output in a file. @param isUp whether it responds. */
export async function startProgram(
  program: string,
  args: readonly string[],
  isUp: () => Promise<boolean>,
  options: { env?: Record<string, string>; uid?: number; gid?: number } = {},
): Promise<Running> {
  mkdirSync(FOLDER, { recursive: true });
  const log = openSync(join(FOLDER, `${program.split('/').at(-1)}.log`), 'a');
  const child = spawn(program, args, {
    ...options,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', log, log],
  });
  await once(child, 'spawn');
  const stop = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  const end = Date.now() + START_MS;
  while (!(await isUp().catch(() => false))) {
    if (Date.now() > end || child.exitCode !== null) {
      await stop();
      throw new Error(`${program} does not respond; its output is in ${FOLDER}`);
    }
    await pause(100);
  }
  return { process: child, stop };
}

/** Whether a server responds to HTTP requests, whatever it says. */
export const responds = (url: string) => (): Promise<boolean> =>
  fetch(url).then(async (response) => {
    await response.body?.cancel();
    return true;
  });
