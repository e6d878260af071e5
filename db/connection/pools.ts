import { parseIntoClientConfig } from 'pg-connection-string';
import { createPool, type DatabasePool, sql } from 'slonik';
import { createFairQueue, type FairQueue } from '#domain/base/fair-queue.ts';
import { type Announcer, createAnnouncer } from './announcements.ts';
import { boundPool, type BoundedPool, type PoolWatch, watchPools } from './bounded-pool.ts';
import { type AddressHashes, createAddressHashes, type KeySeal } from './address-hashes.ts';
import { prepareStatements } from './prepared-statements.ts';
import { withDeadlines } from './query-deadline.ts';
import { checkPooler, UnsupportedPoolerError } from './pooler-check.ts';
import { restrictedLogin, UnrestrictedLoginError } from './restricted-login.ts';
import { NoRows, parseRows, typeParsers } from './rows.ts';
import type { WakeSignals } from '../wakes/transaction-wakes.ts';

/** The URLs of the two logins of the processes, which own nothing (db/connection/restricted-login.ts). */
export interface DatabaseUrls {
  /** Logs in as linepace_tenant, which row-level security limits to one workspace at a time. */
  readonly tenantUrl: string;
  /** Logs in as linepace_system, for work across workspaces. */
  readonly systemUrl: string;
}

/** The URLs of an API process. */
export interface ApiDatabaseUrls extends DatabaseUrls {
  /** Logs in as linepace_tenant at a replica, for reads that may take long; null: there is none. */
  readonly replicaUrl: string | null;
  /** For notifications, which do not pass through a pooler. */
  readonly listenUrl: string;
}

/** The pools of one process, one for each login. */
export interface Pools {
  readonly tenant: TenantPool;
  readonly system: DatabasePool;
  /** For `TenantDb.autocommit`. A separate pool, because its users already hold a connection of another pool. */
  readonly autocommit: DatabasePool;
  /** Signals the workflows that a committed transaction woke; null: they wait for the sweep. */
  readonly waker: WakeSignals | null;
  readonly addressHashes: AddressHashes;
  /** Announces the events of committed transactions. */
  readonly announcer: Announcer;
  /** Of all pools but that of a replica. */
  readonly watch: PoolWatch;
  close(): Promise<void>;
}

/** Connections for the work of workspaces. Worker processes have no queue, because they limit their own work. */
export interface TenantPool {
  readonly pool: DatabasePool;
  readonly queue: FairQueue | null;
}

/** The pools of an API process. No tenant waits for another, and authentication waits for none of them. */
export interface ApiPools extends Pools {
  /** Looks up credentials, shared fairly between client addresses. */
  readonly auth: {
    readonly pool: DatabasePool;
    readonly queue: FairQueue;
    /** The lookups that have not started, by client and name. */
    readonly waiting: Map<string, Promise<unknown>>;
  };
  /** For reads that may take long: analytics, searches and exports. At a replica they see the past. */
  readonly reads: TenantPool;
  /** For the batches of bulk intake, which cross workspaces. They wait for no other work. */
  readonly intake: DatabasePool;
  /** Shares `system` fairly between requests. */
  readonly systemQueue: FairQueue;
}

/** With the address and the login, and without the password. The cause is what the driver says. */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';

  constructor(url: string, login: string, cause: unknown) {
    // Of a host with several addresses, the driver says only a code.
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason given';
    const reason = cause instanceof Error ? cause.message || code : String(cause);
    super(`PostgreSQL at ${new URL(url).host} cannot be used as ${login}: ${reason}`, { cause });
  }
}

export interface PoolOptions {
  size?: number;
  statementTimeoutMs?: number;
  waker?: WakeSignals;
  /** Default: the process has no encryption keys. */
  keySeal?: KeySeal;
}

/**
 * @throws UnrestrictedLoginError if a login has too many privileges.
 * @throws UnsupportedPoolerError if a PgBouncer does not fit.
 * @throws UnusableDatabaseError if the database cannot be reached, or does not let it in.
 */
export async function createPools(urls: DatabaseUrls, options: PoolOptions = {}): Promise<Pools> {
  await checkSystemLogin(urls.systemUrl);
  const [tenant, system, autocommit] = await openAll([
    openPool(urls.tenantUrl, 'linepace_tenant', options),
    openPool(urls.systemUrl, 'linepace_system', options),
    openApart(urls),
  ]);
  const watch = watchPools([tenant, system, autocommit], ask);
  return {
    tenant: { pool: tenant, queue: null },
    system,
    autocommit,
    waker: options.waker ?? null,
    addressHashes: createAddressHashes(autocommit, options.keySeal ?? null),
    announcer: createAnnouncer(autocommit),
    watch,
    close: async () => {
      watch.close();
      await Promise.all([tenant, system, autocommit].map((pool) => pool.end()));
    },
  };
}

const ask = (pool: DatabasePool): Promise<unknown> => pool.query(sql.type(NoRows)`select`);

/** Of statements. A server that has vanished costs this and a few seconds more. */
const STATEMENT_MS = 20_000;
/** What work waits for a connection beyond the time of one statement: a connection that hangs is replaced by then. */
const BEYOND_STATEMENT_MS = 10_000;
/** How long a connection that is destroyed may take to say goodbye. */
const GRACEFUL_MS = 1000;

/**
 * How long a connection stays open that nobody uses. The first queries of a new one take PostgreSQL about 20 ms, because it
 * reads the catalog and plans anew.
 */
const IDLE_TIMEOUT_MS = 30_000;
/** The maximum wait of a request for a connection. */
const CONNECTION_TIMEOUT_MS = 5000;
/** The same where requests do not share the connections, which are taken for milliseconds: only one that hangs keeps them so long. */
const ACQUIRE_MS = 15_000;
const MAX_WAITING = 500;
/** Of statements for which everybody waits, and which take a millisecond. */
const BRIEF_MS = 5000;
/** While one batch of bulk intake commits, a second one may begin (api/routes/messages/drip-intake.ts). */
export const INTAKE_BATCHES = 2;
/** Each batch has one for its plain requests and one for the others. */
const INTAKE_CONNECTIONS = 2 * INTAKE_BATCHES;

/**
 * The pools of an API process.
 * @param size connections for the work of workspaces; each of the other pools has half as many.
 */
export async function createApiPools(
  urls: ApiDatabaseUrls,
  size: number,
  { waker, keySeal }: Required<Pick<PoolOptions, 'waker' | 'keySeal'>>,
): Promise<ApiPools> {
  await checkSystemLogin(urls.systemUrl);
  const half = Math.max(2, Math.ceil(size / 2));
  const acquireMs = ACQUIRE_MS;
  const openTenant = (url: string, size: number): Promise<BoundedPool> =>
    openPool(url, 'linepace_tenant', { size, acquireMs });
  const openSystem = (size: number, options: PoolOptions = {}): Promise<BoundedPool> =>
    openPool(urls.systemUrl, 'linepace_system', { size, acquireMs, ...options });
  const share = (size: number): FairQueue =>
    createFairQueue({
      size,
      share: Math.floor(size / 2) || 1,
      maxWaiting: MAX_WAITING,
      timeoutMs: CONNECTION_TIMEOUT_MS,
    });
  const [tenant, reads, system, auth, intake, autocommit] = await openAll([
    openTenant(urls.tenantUrl, size),
    openTenant(urls.replicaUrl ?? urls.tenantUrl, half),
    openSystem(half),
    openSystem(half, { statementTimeoutMs: BRIEF_MS }),
    openSystem(INTAKE_CONNECTIONS),
    openApart(urls),
  ]);
  const own = [tenant, system, auth, intake, autocommit, ...(urls.replicaUrl === null ? [reads] : [])];
  const watch = watchPools(own, ask);
  return {
    tenant: { pool: tenant, queue: share(size) },
    reads: { pool: reads, queue: share(half) },
    system,
    systemQueue: share(half),
    intake,
    autocommit,
    waker,
    addressHashes: createAddressHashes(autocommit, keySeal),
    announcer: createAnnouncer(autocommit),
    watch,
    auth: {
      pool: auth,
      // A client that tries many keys must not lock out the others behind the same address.
      queue: createFairQueue({
        size: half,
        share: half - 1,
        maxWaiting: 10_000,
        timeoutMs: CONNECTION_TIMEOUT_MS,
      }),
      waiting: new Map(),
    },
    close: async () => {
      watch.close();
      const opened = [tenant, reads, system, auth, intake, autocommit];
      await Promise.all(opened.map((pool) => pool.end()));
    },
  };
}

/** The first connection of a process: while the database is away, no pool is opened that somebody would have to close. */
const checkSystemLogin = (url: string): Promise<void> =>
  checkPooler(url).catch((error: unknown) => {
    throw error instanceof UnsupportedPoolerError
      ? error
      : new UnusableDatabaseError(url, 'linepace_system', error);
  });

/** All or none: what failed is tried again, and pools that stay would use up the connections for which it waits. */
async function openAll<Pools extends readonly Promise<BoundedPool>[] | []>(
  opening: Pools,
): Promise<{ [Index in keyof Pools]: BoundedPool }> {
  try {
    return await Promise.all(opening);
  } catch (error) {
    const pools = await Promise.allSettled(opening);
    await Promise.all(pools.map(async (pool) => pool.status === 'fulfilled' && pool.value.end()));
    throw error;
  }
}

/** Two connections are enough, because the statements take about a millisecond. */
const openApart = (urls: DatabaseUrls): Promise<BoundedPool> =>
  openPool(urls.systemUrl, 'linepace_system', {
    size: 2,
    withinTransactions: true,
    statementTimeoutMs: BRIEF_MS,
  });

async function openPool(
  url: string,
  login: string,
  {
    size = 10,
    statementTimeoutMs = STATEMENT_MS,
    acquireMs = statementTimeoutMs + BEYOND_STATEMENT_MS,
    withinTransactions = false,
  }: PoolOptions & { acquireMs?: number; withinTransactions?: boolean },
): Promise<BoundedPool> {
  const { dsn, tls } = splitTlsSettings(url);
  dsn.searchParams.set('application_name', login);
  const pool = await createPool(dsn.href, {
    captureStackTrace: false,
    dangerouslyAllowForeignConnections: withinTransactions,
    interceptors: [restrictedLogin(login), prepareStatements, parseRows],
    maxPoolSize: size,
    idleTimeout: IDLE_TIMEOUT_MS,
    // Settings are transaction-local, so there is no session state to discard.
    resetConnection: async () => {},
    statementTimeout: statementTimeoutMs,
    driverFactory: withDeadlines(statementTimeoutMs),
    gracefulTerminationTimeout: GRACEFUL_MS,
    typeParsers,
    ...(tls && { ssl: tls }),
  }).catch((error: unknown) => {
    throw error instanceof UnrestrictedLoginError ? error : new UnusableDatabaseError(url, login, error);
  });
  // Errors reach the callers of queries. Without a listener, they would also end the process.
  pool.on('error', () => {});
  // A wrong login ends the process here. While the database is unreachable, each query reports it.
  await pool.query(sql.type(NoRows)`select`).catch((error: unknown) => {
    if (error instanceof UnrestrictedLoginError) throw error;
  });
  return boundPool(pool, { size, acquireMs });
}

/** Slonik reads the settings of TLS in a URL in its own way, so the driver reads them, as for every other connection. */
function splitTlsSettings(url: string) {
  const { ssl } = parseIntoClientConfig(url);
  const dsn = new URL(url);
  for (const name of ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']) dsn.searchParams.delete(name);
  return { dsn, tls: ssl === true ? {} : ssl };
}
