import { createPool, type DatabasePool, parseDsn, sql, stringifyDsn } from 'slonik';
import { createFairQueue, type FairQueue } from '#domain/fair-queue.ts';
import { prepareStatements } from './prepared-statements.ts';
import { restrictedLogin, UnrestrictedLoginError } from './restricted-login.ts';
import { NoRows, parseRows, typeParsers } from './rows.ts';
import type { WakeSignals } from './transaction-wakes.ts';

/** Where the processes log in: two logins of one database, which own nothing (db/restricted-login.ts). */
export interface DatabaseUrls {
  /** As linepace_tenant, which sees one workspace at a time by row-level security. */
  readonly tenantUrl: string;
  /** As linepace_system, which serves what crosses workspaces. */
  readonly systemUrl: string;
}

/** The pools of one process, one for each login. */
export interface Pools {
  readonly tenant: TenantPool;
  readonly system: DatabasePool;
  /** For `apart`: whoever uses it holds a connection of another pool, and must find one free. */
  readonly apart: DatabasePool;
  /** Signals the workflows that a transaction woke, once it is committed; null: they wait for the sweep. */
  readonly waker: WakeSignals | null;
  close(): Promise<void>;
}

/** Connections for the work of workspaces. Workers limit their work themselves: they have no queue. */
export interface TenantPool {
  readonly pool: DatabasePool;
  readonly queue: FairQueue | null;
}

/** The pools of an API process, where tenants must not wait for each other, nor authentication for any of them. */
export interface ApiPools extends Pools {
  /** Looks up credentials, shared fairly between client addresses. */
  readonly auth: {
    readonly pool: DatabasePool;
    readonly queue: FairQueue;
    /** The lookups that wait for their turn, by client and name. */
    readonly waiting: Map<string, Promise<unknown>>;
  };
  /** Analytics, searches and exports: reads that may take long. */
  readonly reads: TenantPool;
  /** Shares `system` between those who ask for it. */
  readonly systemQueue: FairQueue;
}

export interface PoolOptions {
  size?: number;
  statementTimeoutMs?: number;
  waker?: WakeSignals;
}

/** @throws when a login of the pools can do more than it should; a database that is away is no error yet. */
export async function createPools(urls: DatabaseUrls, options: PoolOptions = {}): Promise<Pools> {
  const [tenant, system, apart] = await Promise.all([
    openPool(urls.tenantUrl, 'linepace_tenant', options),
    openPool(urls.systemUrl, 'linepace_system', options),
    openApart(urls),
  ]);
  return {
    tenant: { pool: tenant, queue: null },
    system,
    apart,
    waker: options.waker ?? null,
    close: async () => {
      await Promise.all([tenant, system, apart].map((pool) => pool.end()));
    },
  };
}

/** How long a request waits for a connection. */
const PATIENCE_MS = 5000;
const MAX_WAITING = 500;

/**
 * The pools of an API process.
 * @param size connections for the work of workspaces; each of the other pools has half as many.
 */
export async function createApiPools(
  urls: DatabaseUrls,
  size: number,
  waker: WakeSignals,
): Promise<ApiPools> {
  const half = Math.max(2, Math.ceil(size / 2));
  const openTenant = (size: number): Promise<DatabasePool> =>
    openPool(urls.tenantUrl, 'linepace_tenant', { size });
  const openSystem = (): Promise<DatabasePool> => openPool(urls.systemUrl, 'linepace_system', { size: half });
  const share = (size: number): FairQueue =>
    createFairQueue({
      size,
      share: Math.floor(size / 2) || 1,
      maxWaiting: MAX_WAITING,
      patienceMs: PATIENCE_MS,
    });
  const [tenant, reads, system, auth, apart] = await Promise.all([
    openTenant(size),
    openTenant(half),
    openSystem(),
    openSystem(),
    openApart(urls),
  ]);
  return {
    tenant: { pool: tenant, queue: share(size) },
    reads: { pool: reads, queue: share(half) },
    system,
    systemQueue: share(half),
    apart,
    waker,
    auth: {
      pool: auth,
      // Whoever tries many keys must not keep out those behind the same address.
      queue: createFairQueue({ size: half, share: half - 1, maxWaiting: 10_000, patienceMs: PATIENCE_MS }),
      waiting: new Map(),
    },
    close: async () => {
      await Promise.all([tenant, reads, system, auth, apart].map((pool) => pool.end()));
    },
  };
}

/** Its statements take about a millisecond each. */
const openApart = (urls: DatabaseUrls): Promise<DatabasePool> =>
  openPool(urls.systemUrl, 'linepace_system', { size: 2, withinTransactions: true });

async function openPool(
  url: string,
  login: string,
  {
    size = 10,
    statementTimeoutMs = 30_000,
    withinTransactions = false,
  }: PoolOptions & { withinTransactions?: boolean },
) {
  const pool = await createPool(stringifyDsn({ ...parseDsn(url), applicationName: login }), {
    captureStackTrace: false,
    dangerouslyAllowForeignConnections: withinTransactions,
    interceptors: [restrictedLogin(login), prepareStatements, parseRows],
    maxPoolSize: size,
    // Nothing here keeps state in a session: settings are transaction-local, so nothing has to be discarded.
    resetConnection: async () => {},
    statementTimeout: statementTimeoutMs,
    typeParsers,
  });
  // Failed queries reach their callers; without a listener they would end the process as well.
  pool.on('error', () => {});
  // A wrong login ends the process here; a database that is away is waited for by each query.
  await pool.query(sql.type(NoRows)`select`).catch((error: unknown) => {
    if (error instanceof UnrestrictedLoginError) throw error;
  });
  return pool;
}
