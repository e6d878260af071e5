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

/** Per user, so that all checkouts share one download or build. */
export const cacheFolder = (): string =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'linepace');

/**
 * Finds the Temporal CLI, which contains the server: on the PATH or in the cache. Otherwise downloads it or builds it with
 * Go, and stores it in the cache.
 * @param log prints a line of progress.
 * @returns the path of the program.
 * @throws an error that lists what was tried and why it failed.
 */
export async function findTemporalCli(log: (line: string) => void): Promise<string> {
  if (isTemporalCli('temporal')) return 'temporal';
  const cached = join(cacheFolder(), 'temporal');
  if (isTemporalCli(cached)) return cached;

  mkdirSync(cacheFolder(), { recursive: true });
  // On the same file system as the cached program, so that it can be renamed atomically.
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
      'No Temporal server found. Do one of the following:',
      '  - set TEMPORAL_ADDRESS to a running server (host:port);',
      '  - put the Temporal CLI, `temporal`, on the PATH (https://docs.temporal.io/cli);',
      '  - allow this machine to reach https://temporal.download;',
      `  - install Go, so that "go install ${GO_PACKAGE}" can be run.`,
      'Tried:',
      ...failures,
    ].join('\n'),
  );
}

/** Checks the output of `--version`, because other programs have the same name. */
function isTemporalCli(program: string): boolean {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return typeof stdout === 'string' && stdout.startsWith('temporal version');
}

/** The official download, in a separate process, because the native runtime of the SDK cannot be unloaded. */
async function download(folder: string, log: (line: string) => void): Promise<string> {
  log('downloading the Temporal server …');
  const script = fileURLToPath(new URL('temporal-download.ts', import.meta.url));
  await run(process.execPath, [script, folder], process.env, () => {}, DOWNLOAD_TIMEOUT_MS);
  const file = readdirSync(folder).find((name) => statSync(join(folder, name)).size > 0);
  if (file === undefined) throw new Error('no file was downloaded');
  return join(folder, file);
}

/** Builds it with Go, which takes about two minutes on two cores and requires access to a Go module proxy. */
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
    // No C compiler is required: the server's SQLite is written in Go.
    const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
    await run('go', ['install', '-v', GO_PACKAGE], env, (line) => {
      if (line.startsWith('go: downloading')) downloads++;
      else packages++;
    });
  } finally {
    clearInterval(timer);
  }
  const program = join(folder, 'temporal');
  if (!existsSync(program)) throw new Error('the build created no program (is GOOS or GOARCH set?)');
  return program;
}

/** Runs a program until it exits. @throws with the last line of its stderr. */
function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
  timeout?: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, timeout, stdio: ['ignore', 'ignore', 'pipe'] });
    // It must not outlive a launcher that is stopped.
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
