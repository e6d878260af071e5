import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import { freePort } from '#providers/free-port.ts';
import { stopAtEnd } from './leftovers.ts';

/** The queues that people would use instead, outside the dependencies of the product. */
const PEERS = { 'pg-boss': '12.38.0', 'graphile-worker': '0.18.0', bullmq: '6.7.0', ioredis: '5.11.1' };

/** Installs the peers if they are missing or have other versions. @returns their folder. */
export function installPeers(): string {
  const folder = resolve('.data/bench-peers');
  const isInstalled = Object.entries(PEERS).every(([name, version]) => {
    const file = join(folder, 'node_modules', name, 'package.json');
    return (
      existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version === version
    );
  });
  if (isInstalled) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: PEERS }));
  writeFileSync(join(folder, 'load.mjs'), 'export const load = (name) => import(name);\n');
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--prefer-offline',
    '--loglevel=error',
  ];
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error('the peers could not be installed');
  return folder;
}

/** Starts a Redis that answers after its disk has the write. @returns null if the machine has none. */
export async function startRedis(folder: string): Promise<{ url: string; stop(): void } | null> {
  const program = ['redis-server', 'valkey-server'].find(
    (name) => spawnSync(name, ['--version']).error === undefined,
  );
  if (program === undefined) return null;
  const port = await freePort();
  const args = [
    '--bind',
    '127.0.0.1',
    '--port',
    String(port),
    '--dir',
    folder,
    '--appendonly',
    'yes',
    '--appendfsync',
    'always',
  ];
  const server = spawn(program, args, { stdio: 'ignore' });
  if (server.pid !== undefined) stopAtEnd({ pid: server.pid }, 'SIGTERM');
  while (!(await accepts(port))) await pause(50);
  return { url: `redis://127.0.0.1:${port}`, stop: () => server.kill() };
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = new Socket();
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
    socket.connect(port, '127.0.0.1');
  });

/** Imports a peer as a file of its folder would. */
export async function loadPeer<Module>(folder: string | null, name: string): Promise<Module> {
  const { load } = (await import(pathToFileURL(join(folder ?? '', 'load.mjs')).href)) as {
    load(name: string): Promise<Module>;
  };
  return load(name);
}
