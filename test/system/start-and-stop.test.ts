import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Demo } from '#standalone/demo-data.ts';
import { PARTS, STOP_TIMEOUT_MS } from '#standalone/parts.ts';
import { livePid, processIdentity, sendSignal } from '#standalone/pid-file.ts';
import { freePort } from '#providers/free-port.ts';
import { removeFolder } from '#standalone/postgres-account.ts';
import { sessions } from '#standalone/postgres-sessions.ts';
import { eventually } from '#test/support/app.ts';

/** Runs and kills `npm start` as an operator does, with its own data folder and ports. */
const folder = mkdtempSync(join(tmpdir(), 'linepace-start-'));
const cluster = join(folder, 'postgres', 'cluster');
const ports: Record<string, string> = {};
const READY_MS = 90_000;
/** A workflow whose signal was lost is overdue after half a minute, and the sweep runs every two minutes. */
const SWEPT_MS = 180_000;

beforeAll(async () => {
  for (const name of ['PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT', 'POSTGRES_PORT']) {
    ports[name] = String(await freePort());
  }
});

// A failed test must not affect the next one.
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  killEverything();
});

afterAll(async () => {
  const left = watchProcesses();
  killEverything();
  await eventually(async () => left.stillRunning().length === 0);
  removeFolder(join(folder, 'postgres'));
  rmSync(folder, { recursive: true, force: true });
});

function killEverything(): void {
  // The guard first, since it would stop the others gracefully.
  const guard = livePid(join(folder, 'run', 'guard.pid'));
  for (const pid of [...(guard === null ? [] : [guard]), ...ownPids(), ...sessions(cluster)]) {
    sendSignal(pid, 'SIGKILL');
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

/** The output of the last start. */
let printed = '';

/** Runs `npm start` without npm, in its own process group. Resolves once it reports that it is ready. */
async function start(): Promise<{ process: ChildProcess; output: () => string }> {
  const child = spawn(process.execPath, ['standalone/bootstrap.mjs', 'start'], {
    env: { ...process.env, ...ports, DATA_DIR: folder, NODE_ENV: '', LOG_LEVEL: 'warn', DEMO: 'empty' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text));
  await eventually(async () => output.includes('Linepace is ready') || hasEnded(child), READY_MS);
  expect(output).toContain('Linepace is ready');
  printed = output;
  return { process: child, output: () => output };
}

/** The pids of the launcher, its guard and every part. */
const ownPids = (): number[] =>
  ['launcher', 'guard', ...Object.keys(PARTS)].flatMap((name) => {
    const pid = livePid(join(folder, 'run', `${name}.pid`));
    return pid === null ? [] : [pid];
  });

/** Remembers the processes that run now by their identity, since a pid may be reused. */
function watchProcesses(): { stillRunning: () => number[] } {
  const identities = new Map([...ownPids(), ...sessions(cluster)].map((pid) => [pid, processIdentity(pid)]));
  return {
    stillRunning: () =>
      [...identities].flatMap(([pid, identity]) => (processIdentity(pid) === identity ? [pid] : [])),
  };
}

/** Starts the product unless it is running. @returns the pid of the launcher. */
async function ensureStarted(): Promise<number> {
  const running = livePid(join(folder, 'run', 'launcher.pid'));
  return running ?? ((await start()).process.pid as number);
}

const demo = (): Demo => JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;

/** Schedules a message for a few seconds later, when everything has been killed. */
async function schedule(recipient: { recipientPhone: string } | { recipientEmail: string }): Promise<void> {
  const response = await fetch(`${demo().baseUrl}/api/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo().workspaceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...recipient,
      message: 'Hello',
      scheduledDate: new Date(Date.now() + 3000).toISOString(),
      messageType: 'recipientEmail' in recipient ? 'email' : 'imessage',
    }),
  });
  expect(response.status).toBe(201);
}

async function countAtCarrier(address: string): Promise<number> {
  const response = await fetch(`${demo().baseUrl}/simulated/carrier/sent?to=${encodeURIComponent(address)}`);
  return ((await response.json()) as { count: number }).count;
}

describe('npm start', () => {
  it('starts again at once after everything was killed, and sends each accepted message once', async () => {
    const first = await start();
    const killed = [...ownPids(), ...sessions(cluster)];
    expect(killed.length).toBeGreaterThan(7);
    const phone = '+14155550171';
    const email = 'somebody@contacts.example';
    await schedule({ recipientPhone: phone });
    await schedule({ recipientEmail: email });
    for (const pid of killed) sendSignal(pid, 'SIGKILL');
    process.kill(-(first.process.pid as number), 'SIGKILL');

    const second = await start();
    expect(second.output()).toMatch(/PostgreSQL of an earlier start \(process \d+\)/);
    await eventually(async () => (await countAtCarrier(phone)) > 0, SWEPT_MS);
    await eventually(async () => (await countAtCarrier(email)) > 0, SWEPT_MS);
    expect(await countAtCarrier(phone)).toBe(1);
    expect(await countAtCarrier(email)).toBe(1);
  }, 360_000);

  it('prints a link to the console that signs in to the demo workspace', async () => {
    await ensureStarted();
    const [, code] = /^  Console +http:\/\/localhost:\d+\/console#code=(\S+)$/m.exec(printed) ?? [];
    const response = await fetch(`${demo().baseUrl}/api/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    const { token, workspaceId } = (await response.json()) as { token: string; workspaceId: string };
    expect(workspaceId).toBe(demo().workspaceId);
    const lines = await fetch(`${demo().baseUrl}/api/lines/by-user`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(lines.status).toBe(200);
  }, 150_000);

  it('keeps what it stores from other users', () => {
    const open = readdirSync(folder, { withFileTypes: true, recursive: true })
      // The folder of PostgreSQL may be elsewhere, and belongs to the user that it runs as.
      .filter((entry) => !entry.isSymbolicLink() && !join(entry.parentPath, entry.name).includes('postgres'))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0);
    expect(open).toEqual([]);
    expect(statSync(join(folder, 'temporal.db')).mode & 0o777).toBe(0o600);
  });

  it('listens on the loopback address only', async () => {
    await ensureStarted();
    const sockets = readFileSync('/proc/net/tcp', 'utf8').split('\n');
    const port = Number(ports['PORT']).toString(16).toUpperCase().padStart(4, '0');
    const listening = sockets.filter((line) => line.includes(`:${port} 00000000:0000 0A`));
    expect(listening).toHaveLength(1);
    expect(listening[0]).toContain(`0100007F:${port}`);
  }, 150_000);

  it('leaves no PostgreSQL or Temporal running when only the launcher is killed', async () => {
    const launcher = await ensureStarted();
    const processes = watchProcesses();
    sendSignal(launcher, 'SIGKILL');
    await eventually(async () => processes.stillRunning().length === 0, 90_000);
  }, 240_000);

  it('stops all processes within half a minute of SIGTERM even if the database does not respond', async () => {
    const { process: launcher } = await start();
    const processes = watchProcesses();
    const ended = once(launcher, 'exit');
    const postgres = livePid(join(folder, 'run', 'postgres.pid')) as number;
    for (const pid of new Set([postgres, ...sessions(cluster)])) sendSignal(pid, 'SIGSTOP');
    const signaledAt = performance.now();
    launcher.kill('SIGTERM');
    await ended;
    expect(performance.now() - signaledAt).toBeLessThan(STOP_TIMEOUT_MS + 2000);
    expect(processes.stillRunning()).toEqual([]);
    expect(readdirSync(join(folder, 'run'))).toEqual([]);
  }, 150_000);
});
