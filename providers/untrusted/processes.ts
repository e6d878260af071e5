import { type ChildProcess, fork } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import type { Input, JobName, Output } from './jobs.ts';
import { createTurns } from './turns.ts';

/** The content cannot be read: it is malformed, or reading it took too long or too much memory. The message quotes none of it. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  /** The fields that are wrong, where that is known. */
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

/** Runs work on content that strangers send outside of this process (`jobs.ts`). */
export interface UntrustedWork {
  /**
   * Jobs of one tenant run one after the other, so that no tenant holds up the others.
   * @throws Unreadable, TooMuchToRead, or another error when the job could not run.
   */
  run<Name extends JobName>(tenant: string, job: Name, input: Input<Name>): Promise<Output<Name>>;
  close(): void;
}

export interface UntrustedWorkOptions {
  /** Per job, in milliseconds. */
  deadlineMs?: number;
  memoryMegabytes?: number;
  /** How long a process without work is kept, in milliseconds. */
  idleMs?: number;
}

const PROCESSES = 4;
/** Jobs of one tenant. */
const MAX_WAITING = 200;
const START_MS = 30_000;

/** The files that are being converted: the only ones besides our code that a job may read. */
export const SCRATCH_PREFIX = join(tmpdir(), 'linepace-audio-');

/**
 * Processes and not threads: what exhausts a thread's memory inside of the engine, such as a JSON text of a million
 * small arrays, ends the whole process. They start when there is work and end when there is none.
 */
export function createUntrustedWork({
  deadlineMs = 10_000,
  memoryMegabytes = 256,
  idleMs = 30_000,
}: UntrustedWorkOptions = {}): UntrustedWork {
  const processes = new Set<ChildProcess>();
  const idle: { child: ChildProcess; end: NodeJS.Timeout }[] = [];
  const turns = createTurns({ atOnce: 1, waiting: MAX_WAITING });
  const atOnce = pLimit(PROCESSES);
  let closed = false;

  async function start(): Promise<ChildProcess> {
    const child = fork(fileURLToPath(new URL('./child.ts', import.meta.url)), [], {
      env: {},
      execArgv: [`--max-old-space-size=${memoryMegabytes}`, '--permission', ...readable()],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    processes.add(child);
    child.once('exit', () => {
      processes.delete(child);
      forget(child);
    });
    // Whoever waits for its word is told; without a listener it would end this process as well.
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
    // It holds up nobody who wants to end.
    end.unref();
    child.unref();
    child.channel?.unref();
    idle.push({ child, end });
  }

  return {
    async run<Name extends JobName>(tenant: string, job: Name, input: Input<Name>): Promise<Output<Name>> {
      const answer = await turns.take(tenant, () => atOnce(() => perform({ job, input })));
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

/** What a process says next, or how it ended instead; one that says nothing in time is ended. */
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

/** Our code, without the folder that the product keeps its secrets in. */
function readable(): string[] {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const code = ['package.json', 'node_modules/', 'providers/', 'domain/'].map((name) => join(root, name));
  return [...code, `${SCRATCH_PREFIX}*`].map((path) => `--allow-fs-read=${path}`);
}
