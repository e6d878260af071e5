import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../providers/free-port.ts';
import { stopAtEnd } from './leftovers.ts';

const LAB = new URL('../../', import.meta.url);

/** Installs the queues that people would use instead, which are dependencies of `lab/` and not of the product. */
export function installPeers(): void {
  const { dependencies } = readPackage('package.json');
  const isInstalled = Object.entries(dependencies).every(
    ([name, version]) => readPackage(`node_modules/${name}/package.json`).version === version,
  );
  if (isInstalled) return;
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--ignore-scripts',
    '--prefer-offline',
    '--loglevel=error',
  ];
  const { status } = spawnSync('npm', args, {
    cwd: fileURLToPath(LAB),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the peers could not be installed');
}

function readPackage(path: string): { version?: string; dependencies: Record<string, string> } {
  const file = new URL(path, LAB);
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string; dependencies: Record<string, string> })
    : { dependencies: {} };
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

/** Imports a peer. By a variable, because its types are not installed. */
export const loadPeer = async <Module>(name: string): Promise<Module> => (await import(name)) as Module;
