import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The newest release that `go install` accepts: the module files of later ones carry a `replace`. */
const GO_PACKAGE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';
const DOWNLOAD_TIMEOUT_MS = 300_000;

/** Per user, not per checkout: a fresh clone finds what an earlier one fetched or built. */
export const cacheFolder = (): string =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'linepace');

/**
 * Finds the Temporal CLI, which holds the server: on the PATH, in the cache, by the official download, or built with Go.
 * The latter two leave it in the cache.
 * @param log takes one line of progress at a time.
 * @returns the path of the program.
 * @throws where all ways fail, naming them and what each said.
 */
export async function findTemporalCli(log: (line: string) => void): Promise<string> {
  if (isTemporalCli('temporal')) return 'temporal';
  const cached = join(cacheFolder(), 'temporal');
  if (isTemporalCli(cached)) return cached;

  mkdirSync(cacheFolder(), { recursive: true });
  // Beside the cached program, for the last step is a rename: two starts at once do not see each other's halves.
  const workFolder = mkdtempSync(join(cacheFolder(), 'fetch-'));
  const removeWorkFolder = (): void => rmSync(workFolder, { recursive: true, force: true });
  process.once('exit', removeWorkFolder);
  const failures: string[] = [];
  try {
    for (const [way, fetch] of [
      ['download', download],
      ['go install', build],
    ] as const) {
      try {
        const program = await fetch(workFolder, log);
        if (!isTemporalCli(program)) throw new Error(`${program} does not run`);
        chmodSync(program, 0o755);
        renameSync(program, cached);
        return cached;
      } catch (error) {
        failures.push(`  ${way}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } finally {
    process.off('exit', removeWorkFolder);
    removeWorkFolder();
  }
  throw new Error(
    [
      'No Temporal server was found. Any one of these helps:',
      '  - set TEMPORAL_ADDRESS to a running server (host:port);',
      '  - put the Temporal CLI, `temporal`, on the PATH (https://docs.temporal.io/cli);',
      '  - let this machine reach https://temporal.download;',
      `  - install Go, with which "go install ${GO_PACKAGE}" is run.`,
      'Tried:',
      ...failures,
    ].join('\n'),
  );
}

/** Other programs of that name exist: it has to say what it is. */
function isTemporalCli(program: string): boolean {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return typeof stdout === 'string' && stdout.startsWith('temporal version');
}

/** The official download. In a process of its own: the SDK that does it brings a native runtime which does not unload. */
async function download(folder: string, log: (line: string) => void): Promise<string> {
  log('downloading the Temporal server …');
  const script = fileURLToPath(new URL('temporal-download.ts', import.meta.url));
  await run(process.execPath, [script, folder], process.env, () => {}, DOWNLOAD_TIMEOUT_MS);
  const file = readdirSync(folder).find((name) => statSync(join(folder, name)).size > 0);
  if (file === undefined) throw new Error('it left no file');
  return join(folder, file);
}

/** Builds it with Go: about two minutes on two cores, and only network access to a Go module proxy. */
async function build(folder: string, log: (line: string) => void): Promise<string> {
  if (spawnSync('go', ['version']).status !== 0) throw new Error('Go is not installed');
  log('building the Temporal server with Go: about two minutes, once …');
  const started = performance.now();
  let packages = 0;
  let downloads = 0;
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - started) / 1000);
    log(`  ${seconds} s: ${downloads} modules downloaded, ${packages} packages compiled`);
  }, 10_000);
  try {
    // CGO is off, so that no C compiler is needed: the server's SQLite is written in Go.
    const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
    await run('go', ['install', '-v', GO_PACKAGE], env, (line) => {
      if (line.startsWith('go: downloading')) downloads++;
      else packages++;
    });
  } finally {
    clearInterval(timer);
  }
  const program = join(folder, 'temporal');
  if (!existsSync(program)) throw new Error('it left no program (is GOOS or GOARCH set?)');
  return program;
}

/** Runs a program to its end. @throws with the last line it wrote to stderr. */
function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
  timeout?: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, timeout, stdio: ['ignore', 'ignore', 'pipe'] });
    // A launcher told to stop does not wait for it.
    const kill = (): void => void child.kill();
    process.once('exit', kill);
    let lastLine = '';
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.trim() !== '') lastLine = line.trim();
      onLine(line);
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.off('exit', kill);
      if (code === 0) resolve();
      else reject(new Error(lastLine || `${program} ended with ${signal ?? `exit code ${code}`}`));
    });
  });
}
