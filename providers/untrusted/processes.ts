import { type ChildProcess, fork } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFairQueue } from '#domain/base/fair-queue.ts';
import type { Input, JobName, Output } from './jobs.ts';

/** The content is malformed, or parsing it took too much time or memory. The message does not quote it. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  /** The invalid fields, if known. */
  readonly issues: { path: string; message: string }[];

  constructor(message: string, issues: { path: string; message: string }[] = []) {
    super(message);
    this.issues = issues;
  }
}

export interface Order {
  job: JobName;
  input: unknown;
}
export type Answer = { value: unknown } | { refused: string; issues: { path: string; message: string }[] };

/** Runs the jobs of `jobs.ts` outside of this process. */
export interface UntrustedWork {
  /**
   * Jobs of one tenant run one after the other, so that no tenant delays the others.
   * @throws Unreadable, Busy, or another error if the job could not run.
   */
  run<Name extends JobName>(tenant: string, job: Name, input: Input<Name>): Promise<Output<Name>>;
  close(): void;
}

export interface UntrustedWorkOptions {
  /** Per job, in milliseconds. */
  deadlineMs?: number;
  memoryMegabytes?: number;
  /** How long an idle process is kept, in milliseconds. */
  idleMs?: number;
}

/** Together with `MEGABYTES`, they must fit into the memory of a process that starts them (`deploy/kubernetes`). */
export const PROCESSES = 2;
/** The V8 heap of a process. */
export const MEGABYTES = 128;
/** The waiting jobs of one tenant. */
const MAX_WAITING = 200;
const START_MS = 30_000;

/** When memory runs out, Linux kills this process rather than the one that started it. */
function preferToKill({ pid }: ChildProcess): void {
  if (process.platform !== 'linux' || pid === undefined) return;
  writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => {});
}

/** The scratch folder: besides our code, the only files that a job may read. */
export const SCRATCH_PREFIX = join(tmpdir(), 'linepace-audio-');

/**
 * Uses processes and not threads, because exhausting a thread's memory inside of V8, for example with a JSON text of a
 * million small arrays, crashes the whole process. Processes are started on demand and exit when idle.
 */
export function createUntrustedWork({
  deadlineMs = 10_000,
  memoryMegabytes = MEGABYTES,
  idleMs = 30_000,
}: UntrustedWorkOptions = {}): UntrustedWork {
  const processes = new Set<ChildProcess>();
  const idle: { child: ChildProcess; end: NodeJS.Timeout }[] = [];
  const turns = createFairQueue({ size: PROCESSES, share: 1, maxWaiting: MAX_WAITING });
  let closed = false;

  async function start(): Promise<ChildProcess> {
    const child = fork(fileURLToPath(new URL('./child.ts', import.meta.url)), [], {
      env: {},
      execArgv: [`--max-old-space-size=${memoryMegabytes}`, '--permission', ...readable()],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    processes.add(child);
    preferToKill(child);
    child.once('exit', () => {
      processes.delete(child);
      forget(child);
    });
    // The pending job reports the error; without a listener it would crash this process.
    child.on('error', () => {});
    const first = await nextWord(child, START_MS);
    if (first.kind === 'message') return child;
    throw new Error(`a process for untrusted content could not start: ${reasonOf(first)}`);
  }

  async function perform(order: Order): Promise<Answer> {
    if (closed) throw new Error('stopped');
    const child = takeIdle() ?? (await start());
    const answered = nextWord(child, deadlineMs);
    child.send(order);
    const word = await answered;
    if (word.kind === 'message') {
      keepIdle(child);
      return word.message as Answer;
    }
    if (closed) throw new Error('stopped');
    return { refused: `reading it failed: ${reasonOf(word)}`, issues: [] };
  }

  function takeIdle(): ChildProcess | null {
    const child = idle.at(-1)?.child;
    if (!child) return null;
    forget(child);
    child.ref();
    child.channel?.ref();
    return child;
  }

  function forget(child: ChildProcess): void {
    const at = idle.findIndex((kept) => kept.child === child);
    if (at >= 0) for (const { end } of idle.splice(at, 1)) clearTimeout(end);
  }

  function keepIdle(child: ChildProcess): void {
    const end = setTimeout(() => {
      forget(child);
      child.kill('SIGKILL');
    }, idleMs);
    // Does not keep the process alive.
    end.unref();
    child.unref();
    child.channel?.unref();
    idle.push({ child, end });
  }

  return {
    async run<Name extends JobName>(tenant: string, job: Name, input: Input<Name>): Promise<Output<Name>> {
      const answer = await turns.run(tenant, () => perform({ job, input }));
      if ('refused' in answer) throw new Unreadable(answer.refused, answer.issues);
      return answer.value as Output<Name>;
    },
    close() {
      closed = true;
      for (const { end } of idle.splice(0)) clearTimeout(end);
      for (const child of processes) child.kill('SIGKILL');
    },
  };
}

type Word = { kind: 'message'; message: unknown } | { kind: 'too_late' } | { kind: 'ended'; how: string };

const reasonOf = (word: Exclude<Word, { kind: 'message' }>): string =>
  word.kind === 'too_late' ? 'it took too long' : `its process ended with ${word.how}`;

/** The next message of a process, or how it exited. A process that does not respond in time is killed. */
function nextWord(child: ChildProcess, timeoutMs: number): Promise<Word> {
  const { promise, resolve } = Promise.withResolvers<Word>();
  const onMessage = (message: unknown): void => resolve({ kind: 'message', message });
  const onExit = (code: number | null, signal: string | null): void =>
    resolve({ kind: 'ended', how: signal ?? `status ${code}` });
  const onError = (error: Error): void => resolve({ kind: 'ended', how: error.message });
  child.once('message', onMessage).once('exit', onExit).once('error', onError);
  const timer = setTimeout(() => {
    resolve({ kind: 'too_late' });
    child.kill('SIGKILL');
  }, timeoutMs);
  return promise.finally(() => {
    clearTimeout(timer);
    child.off('message', onMessage).off('exit', onExit).off('error', onError);
  });
}

/** Our code, without the data folder, which contains secrets. */
function readable(): string[] {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const code = ['package.json', 'node_modules/', 'providers/', 'domain/'].map((name) => join(root, name));
  // Modules are read at their real paths, because node_modules may be a link.
  const real = code.map((path) => realpathSync(path));
  return [...code, ...real, `${SCRATCH_PREFIX}*`].map((path) => `--allow-fs-read=${path}`);
}
