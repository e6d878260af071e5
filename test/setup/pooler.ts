import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseUrls } from '#db/connection/pools.ts';
import { freePort } from '#providers/free-port.ts';
import { postgresAccount } from '#standalone/postgres-account.ts';

export interface RunningPooler {
  port: number;
  stop(): Promise<void>;
}

/**
 * Starts a PgBouncer in front of a PostgreSQL server, as docs/scaling.md configures it.
 * @param program path of PgBouncer 1.21 or later.
 */
export async function startPooler(
  program: string,
  databaseUrl: string,
  { tenantUrl, systemUrl }: DatabaseUrls,
  folder: string,
): Promise<RunningPooler> {
  const port = await freePort();
  const users = join(folder, 'pgbouncer-users.txt');
  const settings = join(folder, 'pgbouncer.ini');
  const entries = [tenantUrl, systemUrl].map((url) => {
    const { username, password } = new URL(url);
    return `"${username}" "${decodeURIComponent(password)}"\n`;
  });
  writeFileSync(users, entries.join(''));
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${new URL(databaseUrl).port} connect_query='set statement_timeout = 30000; set idle_in_transaction_session_timeout = 60000'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
max_prepared_statements = 500
default_pool_size = 20
max_client_conn = 5000
ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout
`,
  );
  const account = postgresAccount();
  if (account) for (const file of [users, settings]) chownSync(file, account.uid, account.gid);
  const log = openSync(join(folder, 'pgbouncer.log'), 'a');
  const pooler: ChildProcess = spawn(program, [settings], { ...account, stdio: ['ignore', log, log] });
  await once(pooler, 'spawn');
  return {
    port,
    async stop() {
      if (pooler.exitCode !== null || pooler.signalCode !== null) return;
      const ended = once(pooler, 'exit');
      pooler.kill('SIGKILL');
      await ended;
    },
  };
}
