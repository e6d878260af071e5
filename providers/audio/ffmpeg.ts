import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A program with ffmpeg's arguments that reads `input` and writes `output` in its working directory. */
export interface Ffmpeg {
  command: readonly [string, ...string[]];
  /** Whether it runs as native code, whose memory and output must be limited by the shell. */
  native: boolean;
}

export interface Limits {
  seconds: number;
  memoryBytes: number;
  /** Per file. */
  outputBytes: number;
}

export interface Ended {
  code: number | null;
  /** null unless it was terminated by a signal. */
  signal: NodeJS.Signals | null;
  tookTooLong: boolean;
  stdout: string;
  stderr: string;
}

/** ffmpeg as WebAssembly in a separate process, without files and sockets and with its own memory limit. */
export const WASM_FFMPEG: Ffmpeg = {
  command: [
    process.execPath,
    '--max-old-space-size=256',
    '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
    fileURLToPath(new URL('./ffmpeg-sandbox.ts', import.meta.url)),
  ],
  native: false,
};

const PROGRAM = process.platform === 'win32' ? 'ffmpeg.exe' : 'ffmpeg';
const PROBE_LIMITS: Limits = { seconds: 30, memoryBytes: 1024 ** 3, outputBytes: 0 };
/** The first error is the cause; a broken file produces one for each of its thousands of frames. */
const KEPT_OUTPUT = 4000;

/**
 * Finds ffmpeg: the one at `configured`, else the first on the search path with libopus and the caf muxer, else the
 * WebAssembly build.
 * @throws if the configured one cannot be used.
 */
export async function findFfmpeg(configured: string | null, searchPath: string): Promise<Ffmpeg> {
  if (configured !== null) {
    const found = await usable(configured);
    if (!found) throw new Error(`FFMPEG_PATH: ${configured} is not an ffmpeg with libopus and the caf muxer`);
    return found;
  }
  for (const folder of searchPath.split(delimiter)) {
    const found = isAbsolute(folder) && (await usable(join(folder, PROGRAM)));
    if (found) return found;
  }
  return WASM_FFMPEG;
}

async function usable(path: string): Promise<Ffmpeg | null> {
  const ffmpeg: Ffmpeg = { command: [path], native: true };
  try {
    await access(path, constants.X_OK);
    for (const [topic, known] of [
      ['encoder=libopus', 'Encoder libopus'],
      ['muxer=caf', 'Muxer caf'],
    ] as const) {
      const { stdout } = await runFfmpeg(ffmpeg, ['-hide_banner', '-h', topic], '/', PROBE_LIMITS);
      if (!stdout.includes(known)) return null;
    }
    return ffmpeg;
  } catch {
    return null;
  }
}

/**
 * Runs ffmpeg and reports how it ended.
 * @throws if it cannot be started.
 */
export function runFfmpeg(
  ffmpeg: Ffmpeg,
  args: readonly string[],
  folder: string,
  limits: Limits,
): Promise<Ended> {
  const [program, ...rest] = limited(ffmpeg, limits);
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...rest, ...args], {
      cwd: folder,
      // Our environment contains secrets.
      env: {},
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let tookTooLong = false;
    const timer = setTimeout(() => (tookTooLong = child.kill('SIGKILL')), limits.seconds * 1000);
    const [stdout, stderr] = [kept(child.stdout), kept(child.stderr)];
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, tookTooLong, stdout: stdout(), stderr: stderr() });
    });
  });
}

/** Limits a native program by `ulimit`; a limit that the system does not support is skipped. */
function limited({ command, native }: Ffmpeg, limits: Limits): readonly [string, ...string[]] {
  if (!native || process.platform === 'win32') return command;
  const script = 'ulimit -f "$1" 2>/dev/null; ulimit -v "$2" 2>/dev/null; shift 2; exec "$@"';
  const [blocks, kilobytes] = [Math.ceil(limits.outputBytes / 512), Math.ceil(limits.memoryBytes / 1024)];
  return ['/bin/sh', '-c', script, 'sh', String(blocks), String(kilobytes), ...command];
}

function kept(stream: ChildProcess['stdout']): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < KEPT_OUTPUT) text += chunk.slice(0, KEPT_OUTPUT - text.length);
  });
  return () => text;
}
