import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  type CommonQueryMethods,
  ConnectionError,
  createPool,
  createTypeParserPreset,
  type DatabasePool,
  type DatabaseTransactionConnection,
  type DriverTypeParser,
  IdleTransactionTimeoutError,
  type Interceptor,
  parseDsn,
  SchemaValidationError,
  sql,
  StatementCancelledError,
  StatementTimeoutError,
  stringifyDsn,
} from 'slonik';
import { z } from 'zod';
import { Busy, createFairQueue, type FairQueue } from './fair-queue.ts';
import { prepareStatements, StalePlanError } from './prepared-statements.ts';
import { restrictedLogin, UnrestrictedLoginError } from './restricted-login.ts';
import { NEVER, parseTimestamp } from './timestamp.ts';
import { seenWake, Wakes, type WakeSignals } from './wakes.ts';

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
interface TenantPool {
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

declare const tenantBrand: unique symbol;
declare const systemBrand: unique symbol;

/**
 * One workspace's transaction. The only type that tenant queries take: without a workspace that came from
 * authentication there is no way to make one, and the database refuses what it does not own.
 */
export interface TenantDb extends DatabaseTransactionConnection {
  readonly [tenantBrand]: true;
  readonly workspaceId: string;
  readonly wakes: Wakes;
  /**
   * Single statements that commit at once, whatever becomes of the transaction: for a row that everybody needs and
   * nobody may hold. They see every workspace.
   */
  readonly apart: CommonQueryMethods;
}

/** Queries across workspaces: authentication, sweeps, agency views. Review sees them by this name. */
export interface SystemDb extends CommonQueryMethods {
  readonly [systemBrand]: true;
}

/** A transaction across workspaces. */
export interface SystemTransaction extends SystemDb {
  readonly wakes: Wakes;
  readonly apart: CommonQueryMethods;
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

/** Runs work in a transaction of one workspace. @throws Busy in an API process where no connection comes free. */
export async function withTenant<T>(
  pools: Pools,
  workspaceId: string,
  work: (db: TenantDb) => Promise<T>,
): Promise<T> {
  return tenantTransaction(pools, pools.tenant, workspaceId, work);
}

/** As `withTenant`, for reads that may take long: the workspace's other requests do not wait for them. */
export async function withTenantReads<T>(
  pools: ApiPools,
  workspaceId: string,
  work: (db: TenantDb) => Promise<T>,
): Promise<T> {
  return tenantTransaction(pools, pools.reads, workspaceId, work);
}

async function tenantTransaction<T>(
  { waker, apart }: Pools,
  { pool, queue }: TenantPool,
  workspaceId: string,
  work: (db: TenantDb) => Promise<T>,
): Promise<T> {
  const run = (): Promise<T> =>
    transact(pool, waker, async (transaction, wakes) => {
      await transaction.query(
        sql.type(NoRows)`select set_config('app.workspace_id', ${workspaceId}, true), ${LIMITED_LOCKS}`,
      );
      return work(tenantDb(transaction, { workspaceId, wakes, apart }));
    });
  return queue ? queue.run(workspaceId, run) : run();
}

const tenantDb = (
  transaction: DatabaseTransactionConnection,
  own: Pick<TenantDb, 'workspaceId' | 'wakes' | 'apart'>,
): TenantDb => Object.assign(transaction, own) as unknown as TenantDb;

/** Locks are held for milliseconds: whoever waits longer fails instead, and gives its connection to others. */
const LIMITED_LOCKS = sql.fragment`set_config('lock_timeout', '2000', true)`;

/** slonik repeats a transaction after a serialization failure: each run collects its own wakes. */
async function transact<T>(
  pool: DatabasePool,
  waker: WakeSignals | null,
  work: (transaction: DatabaseTransactionConnection, wakes: Wakes) => Promise<T>,
): Promise<T> {
  const { result, signals } = await transaction(pool, async (db) => {
    const wakes = new Wakes();
    const result = await work(db, wakes);
    return { result, signals: await wakes.write(db) };
  });
  for (const { workflowId, workspaceId, signal } of signals) waker?.wake(workflowId, workspaceId, signal);
  return result;
}

/**
 * As slonik's own, which closes the connection when the work throws. A rolled back connection is as good as before, so
 * the error leaves `connect` as a value: a refused request does not cost the next one a new connection.
 */
async function transaction<T>(
  pool: DatabasePool,
  work: (db: DatabaseTransactionConnection) => Promise<T>,
): Promise<T> {
  const outcome = await pool.connect(async (connection) => {
    let rolledBack: { error: unknown } | undefined;
    try {
      const result = await connection.transaction((db) =>
        work(db).catch((error: unknown) => {
          rolledBack = { error };
          throw error;
        }),
      );
      return { result };
    } catch (error) {
      // Any other error is one of beginning, committing or rolling back: nobody knows in which state it left the connection.
      if (rolledBack?.error === error && !(error instanceof BackendTerminatedError)) return { error };
      throw error;
    }
  });
  if ('error' in outcome) throw outcome.error;
  return outcome.result;
}

/** What a long-lived workflow decides after a look at its tables. */
export interface Decision {
  /** When it looks again; null: not before somebody asks for it. */
  nextAt: Date | null;
  /** It is over for good, unless somebody has asked for a look. */
  ended?: boolean;
}

type Decided<D> = D extends Decision ? Omit<D, keyof Decision> & Decision : D;

/**
 * One look of a long-lived workflow, in one transaction. Nobody waits for it: a request that is committed while it
 * looks is found when the decision is written, and the decision says then that it has to look again.
 * @param look null: there is nothing to decide here, and nothing is stored.
 * @returns the decision with what is stored: `nextAt` may be earlier, and `ended` false.
 */
export async function decide<D extends Decision | null>(
  pools: Pools,
  workspaceId: string,
  workflowId: string,
  look: (db: TenantDb) => Promise<D>,
): Promise<Decided<D>> {
  const { decision, own } = await withTenant(pools, workspaceId, async (db) => {
    const seen = await seenWake(db, workflowId);
    const decision = await look(db);
    if (!decision) return { decision };
    const at = decision.nextAt ?? NEVER;
    // The row says already that it has to look now, and only the workflow itself puts that off.
    if (at.getTime() <= Date.now() && seen.wakeAt !== null && seen.wakeAt <= at) return { decision };
    const wake = { at, ended: decision.ended ?? false };
    return { decision, own: db.wakes.decide(workspaceId, workflowId, seen, wake) };
  });
  if (!own) return decision as Decided<D>;
  const looksAgain = own.at < NEVER;
  return {
    ...decision,
    nextAt: looksAgain ? own.at : null,
    ended: own.ended && !looksAgain,
  } as Decided<D>;
}

/** Runs work within a transaction so that an error rolls back what the work stored and whom it woke, and nothing else. */
export async function savepoint<T>(db: TenantDb, work: (db: TenantDb) => Promise<T>): Promise<T> {
  const wakes = new Wakes();
  const { workspaceId, apart } = db;
  const result = await db.transaction((inner) => work(tenantDb(inner, { workspaceId, wakes, apart })));
  db.wakes.add(wakes);
  return result;
}

/** Ends the inner transaction of `dryRun`. */
class Rollback extends Error {}

/** Runs work within a transaction and rolls all of it back, its statements `apart` too. @returns what it came to. */
export async function dryRun<T>(db: TenantDb, work: (db: TenantDb) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined;
  try {
    await savepoint(db, async (inner) => {
      result = { value: await work(Object.assign(inner, { apart: inner })) };
      throw new Rollback();
    });
  } catch (error) {
    if (!(error instanceof Rollback)) throw error;
  }
  if (!result) throw new Error('the work came to no result');
  return result.value;
}

export async function withSystem<T>(pools: Pools, work: (db: SystemTransaction) => Promise<T>): Promise<T> {
  return transact(pools.system, pools.waker, async (transaction, wakes) => {
    await transaction.query(sql.type(NoRows)`select ${LIMITED_LOCKS}`);
    return work(Object.assign(transaction, { wakes, apart: pools.apart }) as unknown as SystemTransaction);
  });
}

/**
 * As `withSystem`, for requests, which share the connections fairly.
 * @param payer an agency's id, or the address of a client who has yet to prove who they are.
 * @throws Busy
 */
export async function withSystemShare<T>(
  pools: ApiPools,
  payer: string,
  work: (db: SystemTransaction) => Promise<T>,
): Promise<T> {
  return pools.systemQueue.run(payer, () => withSystem(pools, work));
}

/**
 * Looks up a credential on connections that do nothing else. A burst of requests with one key waits for one lookup; a
 * lookup that has begun is not shared with later requests, since the key may have been revoked after it read.
 * @param client the address it came from.
 * @param name what is looked up.
 * @throws Busy
 */
export async function withAuth<T>(
  { auth }: ApiPools,
  client: string,
  name: string,
  lookUp: (db: SystemDb) => Promise<T>,
): Promise<T> {
  const key = `${client} ${name}`;
  const waiting = auth.waiting.get(key) as Promise<T> | undefined;
  if (waiting) return waiting;
  const result = auth.queue.run(client, () => {
    auth.waiting.delete(key);
    return lookUp(auth.pool as unknown as SystemDb);
  });
  auth.waiting.set(key, result);
  try {
    return await result;
  } finally {
    if (auth.waiting.get(key) === result) auth.waiting.delete(key);
  }
}

/** Single statements across workspaces, without a transaction's round trips. */
export const systemDb = (pools: Pools): SystemDb => pools.system as unknown as SystemDb;

/**
 * Whether the database had no time for a statement: no connection or lock came free, it took too long, it conflicted
 * with others each time it was repeated, or the server is not reachable. The statement may succeed later.
 */
export function isOverload(error: unknown): boolean {
  if (OVERLOADS.some((kind) => error instanceof kind)) return true;
  return error instanceof Error && 'code' in error && OVERLOAD_CODES.has(String(error.code));
}

const OVERLOADS = [
  Busy,
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  IdleTransactionTimeoutError,
  StalePlanError,
  StatementCancelledError,
  StatementTimeoutError,
];

/** Lock timeout; serialization failure; deadlock; too many connections; the server starts or stops. */
const OVERLOAD_CODES = new Set(['55P03', '40001', '40P01', '53300', '57P03']);

/** For statements whose rows nobody reads. */
export const NoRows = z.unknown();

/**
 * Every row is parsed by the schema it was asked for with: a column that changed its type fails here and not later.
 * Columns arrive in snake_case and are named in camelCase from here on.
 */
const parseRows: Interceptor = {
  name: 'parse-rows',
  transformRow: ({ resultParser }, query, row) => {
    if (!resultParser) return row;
    const named: Record<string, unknown> = {};
    for (const column in row) named[camelCase(column)] = row[column];
    const result = resultParser['~standard'].validate(named);
    if (result instanceof Promise) throw new Error('row schemas are synchronous');
    if (result.issues) throw new SchemaValidationError(query, row, result.issues);
    return result.value as typeof row;
  },
};

const camelNames = new Map<string, string>();

function camelCase(column: string): string {
  let name = camelNames.get(column);
  if (name === undefined) {
    name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    camelNames.set(column, name);
  }
  return name;
}

/** slonik's own set turns bigint into BigInt and numeric into a float: counts become safe numbers, money stays text. */
const typeParsers: DriverTypeParser[] = [
  ...createTypeParserPreset().filter(
    ({ name }) => !['int8', 'numeric', 'timestamptz', 'timestamp'].includes(name),
  ),
  { name: 'int8', parse: safeInteger },
  { name: 'timestamptz', parse: parseTimestamp },
];

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`);
  return value;
}
