import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../bench/support/waiting.ts';

export interface Machine {
  root: string;
  /** Runs a script with bash, as root. @throws if it fails. @returns what it prints. */
  run(script: string, env?: Record<string, string>): string;
  /** Starts systemd, without a network. */
  boot(): Promise<void>;
  stop(): Promise<void>;
}

const CONTAINER = ['--quiet', '--register=no', '--keep-unit'];
const BOOT_MS = 60_000;

/** A Debian 13, once. @returns null if it cannot be installed. */
export function debian(folder: string): string | null {
  const root = join(folder, 'debian-13');
  if (existsSync(join(root, 'complete'))) return root;
  if (process.getuid?.() !== 0) return null;
  for (const [program, name] of [
    ['debootstrap', 'debootstrap'],
    ['systemd-nspawn', 'systemd-container'],
  ] as const)
    if (spawnSync(program, ['--version']).status !== 0)
      spawnSync('apt-get', ['install', '-y', '--no-install-recommends', name], { stdio: 'ignore' });
  console.log('Installing Debian 13, once …');
  rmSync(root, { recursive: true, force: true });
  const { status } = spawnSync(
    'debootstrap',
    ['--variant=minbase', '--include=systemd,systemd-sysv,dbus,ca-certificates,curl', 'trixie', root],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  if (status !== 0) return null;
  writeFileSync(join(root, 'complete'), '');
  return root;
}

/** A copy of an installation, in which nothing runs yet. Programs that are run in it have this machine's network until it is booted. */
export function createMachine(base: string, root: string): Machine {
  rmSync(root, { recursive: true, force: true });
  execFileSync('cp', ['--archive', '--reflink=auto', base, root]);
  let leader: string | null = null;
  let container: ReturnType<typeof spawn> | null = null;

  function run(script: string, env: Record<string, string> = {}): string {
    const shell = ['bash', '-eo', 'pipefail', '-c', script];
    const [program, args] =
      leader === null
        ? ([
            'systemd-nspawn',
            [
              ...CONTAINER,
              '--console=pipe',
              `--directory=${root}`,
              ...Object.entries(env).map(([name, value]) => `--setenv=${name}=${value}`),
              ...shell,
            ],
          ] as const)
        : (['nsenter', [`--target=${leader}`, '--all', '--root', '--wd', '--', ...shell]] as const);
    const { status, stdout, stderr } = spawnSync(program, args, {
      encoding: 'utf8',
      env: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        HOME: '/root',
        LANG: 'C.UTF-8',
        ...env,
      },
      maxBuffer: 64 * 1024 * 1024,
    });
    if (status !== 0) throw new Error(`${script}\n${stdout.slice(-3000)}\n${stderr.slice(-3000)}`);
    return stdout;
  }

  return {
    root,
    run,
    async boot() {
      const started = spawn(
        'systemd-nspawn',
        [...CONTAINER, '--console=pipe', '--private-network', `--directory=${root}`, '--boot'],
        { stdio: 'ignore' },
      );
      container = started;
      await once(started, 'spawn');
      const children = (pid: number | string): string =>
        readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
      await until(async () => children(started.pid ?? 0) !== '', BOOT_MS);
      leader = children(started.pid ?? 0);
      await until(
        async () => ['running', 'degraded'].includes(run('systemctl is-system-running || true').trim()),
        BOOT_MS,
      );
    },
    async stop() {
      if (!container || container.exitCode !== null) return;
      const ended = once(container, 'exit');
      // Asks systemd to halt.
      if (leader !== null) run('systemctl --no-block poweroff');
      await ended;
      leader = null;
    },
  };
}
