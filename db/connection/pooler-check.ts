import pg from 'pg';

/** A pooler between this process and PostgreSQL cannot carry its connections. */
export class UnsupportedPoolerError extends Error {
  override readonly name = 'UnsupportedPoolerError';
}

/** What a check of a pooler found. */
export interface PoolerFailure {
  /** The SQLSTATE, for example 42P05; undefined: the connection was lost. */
  code?: string | undefined;
  message: string;
}

const CONNECT_MS = 5000;
/** Each round prepares another statement, because a busy pooler may give the two connections different ones of its own. */
const ROUNDS = 5;
const GUIDE = 'docs/scaling.md#pgbouncer';

/**
 * Refuses a PgBouncer that loses prepared statements or parameters of connections, before requests meet errors that do not
 * name it.
 * @throws UnsupportedPoolerError that names PgBouncer, its version and the setting.
 * @throws what the driver says of a database that does not let it connect.
 */
export async function checkPooler(url: string): Promise<void> {
  try {
    await tryPooler(url);
  } catch (error) {
    const failure = failureOf(error);
    if (!isOfPooler(failure)) throw error;
    throw new UnsupportedPoolerError(poolerProblem(failure, await versionOf(url)));
  }
}

/** Two connections prepare the same statement by turns, so that they meet at a connection that the pooler shares. */
async function tryPooler(url: string): Promise<void> {
  const clients = [clientOf(url), clientOf(url)] as const;
  try {
    const [first, second] = clients;
    await first.connect();
    if (await isDirect(first)) return;
    await second.connect();
    for (let round = 0; round < ROUNDS; round += 1)
      for (const client of clients) {
        await client.query('begin');
        await client.query({ name: `pooler-check-${round}`, text: 'select 1' });
        await client.query('commit');
      }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
  }
}

/** A pooler makes up the process id of the greeting, because it has no connection of its own yet (BackendKeyData of the protocol). */
async function isDirect(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() pid');
  return 'processID' in client && client.processID === rows[0]?.pid;
}

function clientOf(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
    application_name: 'linepace pooler check',
    // As the pools do. PgBouncer refuses parameters that it does not know, unless it is told to ignore them.
    statement_timeout: CONNECT_MS,
    idle_in_transaction_session_timeout: CONNECT_MS,
  });
  client.on('error', () => {});
  return client;
}

const failureOf = (error: unknown): PoolerFailure =>
  error instanceof Error
    ? {
        message: error.message,
        ...('code' in error && typeof error.code === 'string' && { code: error.code }),
      }
    : { message: String(error) };

/** Errors of PostgreSQL that only a shared connection can cause, and PgBouncer's own (class 08 and words of its own). */
const isOfPooler = ({ code, message }: PoolerFailure): boolean =>
  code === '42P05' ||
  code === '26000' ||
  /unsupported startup parameter|statement pooling mode|prepared statement/i.test(message);

/** What to tell an operator. @param version of PgBouncer, for example 1.18.0; null: it does not tell this login. */
export function poolerProblem({ message }: PoolerFailure, version: string | null): string {
  const [, parameter] = /unsupported startup parameter(?: in options)?: (\w+)/i.exec(message) ?? [];
  return `${
    version === null ? 'the PgBouncer' : `PgBouncer ${version}`
  } in front of the database cannot be used: it answers "${message}". ${remedy(message, parameter, version)} See ${GUIDE}.`;
}

function remedy(message: string, parameter: string | undefined, version: string | null): string {
  if (parameter !== undefined)
    return `Add ${parameter} to ignore_startup_parameters: statement_timeout and idle_in_transaction_session_timeout have to be ignored.`;
  if (/statement pooling mode/i.test(message)) return 'Set pool_mode to transaction.';
  if (version !== null && isOlder(version))
    return 'Prepared statements in transaction mode require PgBouncer 1.21 or later with max_prepared_statements = 500.';
  return version === null
    ? 'Prepared statements in transaction mode require PgBouncer 1.21 or later with max_prepared_statements = 500; with stats_users = linepace_system this message names the version.'
    : 'Set max_prepared_statements to 500, and server_reset_query_always to 0.';
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 1 || (major === 1 && minor < 21);
}

/** PgBouncer's console, which is a database of this name, tells its version to `stats_users` and `admin_users`. */
async function versionOf(url: string): Promise<string | null> {
  const address = new URL(url);
  address.pathname = '/pgbouncer';
  const client = new pg.Client({
    connectionString: address.href,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>('show version');
    return /(\d+\.\d+[\d.]*)/.exec(rows[0]?.version ?? '')?.[1] ?? null;
  } catch {
    return null;
  } finally {
    await client.end().catch(() => {});
  }
}
