import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../../../providers/free-port.ts';
import { postgresAccount } from '../../../../standalone/postgres-account.ts';
import type { DatabasePlace } from '../servers.ts';

/** The backups of the product's PostgreSQL by pgBackRest: a base backup, and the archive of the write-ahead log. */
export interface Backups {
  /** Where PostgreSQL is to run, and how it archives. */
  place: DatabasePlace;
  /** Once PostgreSQL runs. */
  create(): Promise<void>;
  backUp(): Promise<void>;
  /**
   * Restores the base backup to another folder, and says how the server gets the log.
   * @param to the time to recover to; null: the end of the archive.
   * @returns the folder of the restored database.
   */
  restore(name: string, to: Date | null): Promise<string>;
}

/** The most that is lost with the disk while archiving works. As in `docker-compose.yml`. */
export const ARCHIVE_TIMEOUT_SECONDS = 60;
const STANZA = 'linepace';

export async function createBackups(folder: string, program: string): Promise<Backups> {
  const account = postgresAccount();
  // As root, PostgreSQL and pgBackRest run as another user.
  chmodSync(folder, 0o711);
  const own = (name: string): string => {
    const path = join(folder, name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (account) chownSync(path, account.uid, account.gid);
    return path;
  };
  const place = { dataDir: join(folder, 'postgres'), port: await freePort() };
  const configFile = join(folder, 'pgbackrest.conf');
  const socket = own('socket');
  const repository = own('backups');
  const work = own('pgbackrest');

  function configure(cluster: string): void {
    writeFileSync(
      configFile,
      `[global]
repo1-path=${repository}
repo1-retention-full=2
lock-path=${work}
spool-path=${work}
log-path=${work}
[${STANZA}]
pg1-path=${cluster}
pg1-port=${place.port}
pg1-socket-path=${socket}
pg1-user=postgres
`,
    );
  }
  const stanza = [`--config=${configFile}`, `--stanza=${STANZA}`];
  const run = async (...args: string[]): Promise<void> => {
    const password = readFileSync(join(place.dataDir, 'password'), 'utf8').trim();
    const env = { PATH: process.env['PATH'], PGPASSWORD: password };
    await promisify(execFile)(program, [...stanza, ...args], { ...account, cwd: '/', env });
  };
  configure(join(place.dataDir, 'cluster'));

  return {
    place: {
      ...place,
      settings: {
        unix_socket_directories: socket,
        archive_mode: 'on',
        archive_timeout: `${ARCHIVE_TIMEOUT_SECONDS}s`,
        archive_command: `${program} ${stanza.join(' ')} archive-push %p`,
      },
    },
    create: () => run('stanza-create'),
    backUp: () => run('backup', '--type=full', '--start-fast'),
    async restore(name, to) {
      own(name);
      const cluster = own(join(name, 'cluster'));
      configure(cluster);
      const target = to?.toISOString().replace('T', ' ').replace('Z', '+00');
      const options =
        target === undefined ? [] : ['--type=time', `--target=${target}`, '--target-action=promote'];
      await run('restore', ...options);
      return join(folder, name);
    },
  };
}
