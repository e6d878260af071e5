import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commandLine, isZombie, livePid, processIdentity, stopByPidFile, writePidFile } from './pid-file.ts';
import { becomesTrue } from './wait.ts';

let folder = '';
let children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'linepace-pid-'));
});

afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children = [];
  rmSync(folder, { recursive: true });
});

function start(program: string, ...args: string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  return child;
}

/** @returns the pid of a process whose parent never collects its exit status, because it has replaced itself. */
async function startUncollected(): Promise<number> {
  const parent = start('/bin/sh', '-c', 'sleep 300 & echo $!; exec sleep 300');
  const [line] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  // The shell itself would collect its child; the program that takes its place does not.
  expect(await becomesTrue(() => commandLine(parent.pid as number).startsWith('sleep'), 5000)).toBe(true);
  return Number(line.toString());
}

describe('the pid file', () => {
  it('names a process only while it runs', async () => {
    const child = start('sleep', '300');
    const file = join(folder, 'part.pid');
    writePidFile(file, child.pid as number);
    expect(livePid(file)).toBe(child.pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(livePid(file)).toBeNull();
  });

  it('treats a zombie process as ended although its pid still accepts signals', async () => {
    const pid = await startUncollected();
    const file = join(folder, 'part.pid');
    writePidFile(file, pid);
    expect(livePid(file)).toBe(pid);
    process.kill(pid, 'SIGKILL');
    expect(await becomesTrue(() => isZombie(pid), 5000)).toBe(true);
    expect(() => process.kill(pid, 0)).not.toThrow();
    expect(processIdentity(pid)).toBeNull();
    expect(livePid(file)).toBeNull();
    expect(await stopByPidFile(file, 'SIGTERM')).toBeNull();
  });

  it('lets a process be killed that ignores SIGTERM', async () => {
    const child = start('/bin/sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 1; done');
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    const file = join(folder, 'part.pid');
    writePidFile(file, child.pid as number);
    const ended = once(child, 'exit');
    expect(await stopByPidFile(file, 'SIGTERM', 100)).toBe(child.pid);
    expect(await ended).toEqual([null, 'SIGKILL']);
  });
});
