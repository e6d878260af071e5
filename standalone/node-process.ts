import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { lastLines, openLog } from './log-file.ts';
import { type RunningProcess, runningProcess } from './running-process.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** On a busy machine. A process that ends is noticed at once. */
const READY_TIMEOUT_MS = 180_000;

/**
 * Starts one of our own services and waits until it reports that it is ready (see `providers/lifecycle.ts`).
 * @param entry the file, relative to the project's folder.
 * @param logFile its output is appended to this file.
 * @param onSpawn called with the process before it is ready.
 * @param flags of Node.
 * @throws with the last lines of the log if it exits, or is not ready in time.
 */
export async function startNode(
  entry: string,
  env: NodeJS.ProcessEnv,
  logFile: string,
  onSpawn: (process: RunningProcess) => void,
  flags: readonly string[] = [],
): Promise<void> {
  const log = openLog(logFile);
  const child = spawn(process.execPath, [...flags, entry], {
    cwd: ROOT,
    env,
    stdio: ['ignore', log, log, 'ipc'],
    // Its own process group: Ctrl-C reaches only the launcher, which stops things in order.
    detached: true,
  });
  closeSync(log);
  const ready = new Promise<'ready'>((resolve) => {
    child.on('message', (message) => {
      if ((message as { type?: unknown } | null)?.type === 'ready') resolve('ready');
    });
  });
  const service = await runningProcess(child, 'SIGTERM');
  onSpawn(service);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no response for ${READY_TIMEOUT_MS / 1000} s`), READY_TIMEOUT_MS);
  });
  const outcome = await Promise.race([ready, service.ended, timeout]);
  clearTimeout(timer);
  if (outcome !== 'ready') {
    await service.stop();
    throw new Error(`${entry} did not become ready (${outcome}):\n${lastLines(logFile)}`);
  }
}

/**
 * Runs one of our own scripts until it exits.
 * @param signal stops it with SIGTERM.
 * @throws with its output if the exit code is not 0.
 */
export async function runNode(
  entry: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  args: readonly string[] = [],
): Promise<void> {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: ROOT,
    env,
    signal,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  }
  const { ended } = await runningProcess(child, 'SIGTERM');
  const how = await ended;
  if (how !== 'exit code 0') throw new Error(`${entry} failed (${how}):\n${output.trim()}`);
}
