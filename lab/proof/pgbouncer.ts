import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'slonik';
import { z } from 'zod';
import { startServers } from '../bench/support/servers.ts';
import { createPools, type DatabaseUrls } from '../../db/connection/pools.ts';
import { freePort } from '../../providers/free-port.ts';
import { postgresAccount } from '../../standalone/postgres-account.ts';
import { debianProgram, provePart, startProgram } from './world/part.ts';

/**
 * `npm run prove -- pgbouncer`: connects through a real PgBouncer, which Debian's package installs: one that fits works, and one
 * that does not is refused at the start by name, version and setting.
 */
const PROGRAM = '/usr/sbin/pgbouncer';
const FITTING = {
  pool_mode: 'transaction',
  max_prepared_statements: '500',
  ignore_startup_parameters: 'statement_timeout, idle_in_transaction_session_timeout',
  stats_users: 'linepace_system',
};

await provePart({
  name: 'pgbouncer',
  find() {
    const program = debianProgram(PROGRAM, ['pgbouncer']);
    if (program === null) return 'PgBouncer is not installed (Debian: pgbouncer)';
    const [, version = ''] = /PgBouncer (\S+)/.exec(execFileSync(program, ['--version']).toString()) ?? [];
    return { version: `PgBouncer ${version}`, number: version, program };
  },
  async prove({ program, number }, check) {
    const servers = await startServers();
    const { tenantUrl, systemUrl } = servers.config.database;
    const folder = mkdtempSync(join(tmpdir(), 'linepace-pgbouncer-'));
    chmodSync(folder, 0o755);
    const isOld = Number(number.split('.')[1]) < 21;

    /** Starts both pools through a PgBouncer. @returns what the start says; '' if 200 queries succeed. */
    async function through(settings: Record<string, string>): Promise<string> {
      const port = await freePort();
      const own = { ...FITTING, ...settings };
      const users = [tenantUrl, systemUrl].map((url) => {
        const { username, password } = new URL(url);
        return `"${username}" "${decodeURIComponent(password)}"\n`;
      });
      const [list, file] = [join(folder, `${port}.txt`), join(folder, `${port}.ini`)];
      writeFileSync(list, users.join(''));
      const lines = Object.entries({
        listen_addr: '127.0.0.1',
        listen_port: String(port),
        unix_socket_dir: '',
        auth_type: 'scram-sha-256',
        auth_file: list,
        ...own,
      }).filter(([name]) => !(isOld && name === 'max_prepared_statements'));
      writeFileSync(
        file,
        `[databases]\n* = host=127.0.0.1 port=${new URL(systemUrl).port}\n[pgbouncer]\n${lines.map(([name, value]) => `${name} = ${value}`).join('\n')}\n`,
      );
      const account = postgresAccount();
      if (account) for (const path of [list, file]) chownSync(path, account.uid, account.gid);
      const pooler = await startProgram(program, [file], () => isOpen(port), { ...account });
      const at = (url: string): string => {
        const address = new URL(url);
        address.port = String(port);
        return address.href;
      };
      const urls: DatabaseUrls = { tenantUrl: at(tenantUrl), systemUrl: at(systemUrl) };
      try {
        const pools = await createPools(urls, { size: 8 });
        try {
          const Row = z.object({ one: z.int() });
          for (let round = 0; round < 10; round += 1)
            await Promise.all(
              Array.from({ length: 20 }, () => pools.system.one(sql.type(Row)`select 1 one`)),
            );
          return '';
        } finally {
          await pools.close();
        }
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      } finally {
        await pooler.stop();
      }
    }

    try {
      const fitting = await through({});
      if (isOld)
        check(
          'a version without prepared statements is refused by name and version',
          fitting.startsWith(`PgBouncer ${number}`) && fitting.includes('1.21 or later'),
          fitting,
        );
      else {
        check('a PgBouncer as documented works', fitting === '', fitting);
        const without = await through({ max_prepared_statements: '0' });
        check(
          '… and without prepared statements is refused',
          without.includes('max_prepared_statements'),
          without,
        );
      }
      const nameless = await through({ stats_users: '', ...(isOld ? {} : { max_prepared_statements: '0' }) });
      check('… also if it does not tell its version', nameless.includes('stats_users'), nameless);
      const parameters = await through({ ignore_startup_parameters: 'options' });
      check(
        'one that refuses the timeouts is refused with the setting',
        parameters.includes('ignore_startup_parameters'),
        parameters,
      );
      const statements = await through({ pool_mode: 'statement' });
      check('statement pooling is refused with the setting', statements.includes('pool_mode'), statements);
      const session = await through({ pool_mode: 'session' });
      check('session pooling works', session === '', session);
    } finally {
      await servers.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
});

async function isOpen(port: number): Promise<boolean> {
  const { connect } = await import('node:net');
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
