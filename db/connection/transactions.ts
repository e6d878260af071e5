import {
  BackendTerminatedError,
  type CommonQueryMethods,
  type DatabasePool,
  type DatabaseTransactionConnection,
  type FragmentSqlToken,
  sql,
} from 'slonik';
import { z } from 'zod';
import type { AddressHashes } from './address-hashes.ts';
import type { ApiPools, Pools, TenantPool } from './pools.ts';
import { NoRows } from './rows.ts';
import { LineSignals } from './transaction-line-signals.ts';
import { Wakes } from '../wakes/transaction-wakes.ts';
import { withClock } from './workspace-clock.ts';

declare const tenantBrand: unique symbol;
declare const systemBrand: unique symbol;

/**
 * A transaction of one workspace, required by all tenant queries. It can only be created with the id of an authenticated
 * workspace, and row-level security hides the rows of all others.
 */
export interface TenantDb extends DatabaseTransactionConnection {
  readonly [tenantBrand]: true;
  readonly workspaceId: string;
  /** How far the workspace's clock is ahead, in milliseconds; null: the workspace is live. */
  readonly aheadMs: number | null;
  readonly wakes: Wakes;
  /** What the transaction adds to the counts that a line is scored by (`domain/lines/line-signals.ts`). */
  readonly lineSignals: LineSignals;
  /**
   * Runs single statements that commit at once, independently of the transaction, for rows that everybody needs and that
   * nobody may keep locked. They see every workspace.
   */
  readonly autocommit: CommonQueryMethods;
  readonly addressHashes: AddressHashes;
  /** Aborted when nobody waits for what is read. Between statements that take long, `throwIfAborted` saves the next ones. */
  readonly signal?: AbortSignal | undefined;
}

/** For queries across workspaces: authentication, sweeps, agencies. The type marks them for review. */
export interface SystemDb extends CommonQueryMethods {
  readonly [systemBrand]: true;
}

/** A transaction across workspaces. */
export interface SystemTransaction extends SystemDb {
  readonly wakes: Wakes;
  readonly autocommit: CommonQueryMethods;
  readonly addressHashes: AddressHashes;
}

export interface TenantOptions {
  /**
   * Statements keep the plans that suit any parameters. Otherwise PostgreSQL plans those with arrays each time, because it
   * takes ten elements for granted.
   */
  genericPlans?: boolean;
}

/**
 * Runs work in a transaction of one workspace.
 * @throws Busy in an API process if no connection becomes free in time
 */
export async function withTenant<T>(
  pools: Pools,
  workspaceId: string,
  work: (db: TenantDb) => Promise<T>,
  options: TenantOptions = {},
): Promise<T> {
  return tenantTransaction(pools, pools.tenant, workspaceId, work, options);
}

/**
 * Like `withTenant`, for reads that may take long, so that the workspace's other requests do not wait for them. With
 * `DATABASE_REPLICA_URL` they see what the replica has received so far.
 * @param signal aborted when nobody waits for the result: reads that have not started do not.
 * @throws Busy; the signal's reason
 */
export async function withTenantReads<T>(
  pools: ApiPools,
  workspaceId: string,
  work: (db: TenantDb) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return tenantTransaction(pools, pools.reads, workspaceId, work, { signal });
}

async function tenantTransaction<T>(
  pools: Pools,
  { pool, queue }: TenantPool,
  workspaceId: string,
  work: (db: TenantDb) => Promise<T>,
  { genericPlans = false, signal }: TenantOptions & { signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const { autocommit, addressHashes } = pools;
  const settings = genericPlans ? sql.fragment`${LIMITED_LOCKS}, ${GENERIC_PLANS}` : LIMITED_LOCKS;
  const run = (): Promise<T> =>
    transact(pool, pools, async (transaction, wakes) => {
      const { aheadMs } = await transaction.one(
        sql.type(EnteredRow)`select ${settings}, enter_workspace(${workspaceId}) ahead_ms`,
      );
      wakes.aheadMs = aheadMs ?? 0;
      return withClock(workspaceId, aheadMs, async () => {
        const lineSignals = new LineSignals();
        const own = { workspaceId, aheadMs, wakes, lineSignals, autocommit, addressHashes, signal };
        const result = await work(tenantDb(transaction, own));
        await lineSignals.write(transaction, workspaceId);
        if (aheadMs !== null && wakes.hasEntries)
          wakes.aheadMs = await lockTestClock(transaction, workspaceId);
        return result;
      });
    });
  return queue ? queue.run(workspaceId, run, signal) : run();
}

const EnteredRow = z.object({ aheadMs: z.number().nullable() });

/**
 * Keeps the clock of test mode where it is until the transaction ends. If it has moved since the transaction began, wakes that were
 * written as of then would be late by that. The lock excludes `stepTestClock`, but not `startTestClock`, which waits for
 * idempotency keys that this transaction may hold.
 * @returns how far it is ahead now, in milliseconds.
 */
async function lockTestClock(
  transaction: DatabaseTransactionConnection,
  workspaceId: string,
): Promise<number> {
  const row = await transaction.maybeOne(sql.type(ClockRow)`
    select ahead_ms from test_clocks where workspace_id = ${workspaceId} for key share`);
  return row?.aheadMs ?? 0;
}

const ClockRow = z.object({ aheadMs: z.number() });

const tenantDb = (
  transaction: DatabaseTransactionConnection,
  own: Pick<
    TenantDb,
    'workspaceId' | 'aheadMs' | 'wakes' | 'lineSignals' | 'autocommit' | 'addressHashes' | 'signal'
  >,
): TenantDb => Object.assign(transaction, own) as unknown as TenantDb;

/** Locks are held for milliseconds. A transaction that waits longer fails and releases its connection. */
const LIMITED_LOCKS = sql.fragment`set_local('lock_timeout', '2000')`;
/** Within the limit of a statement. */
const LONGER_LOCKS = sql.fragment`set_local('lock_timeout', '8000')`;
const GENERIC_PLANS = sql.fragment`set_local('plan_cache_mode', 'force_generic_plan')`;
const BRIEF_LOCKS = sql.fragment`set_local('lock_timeout', '100')`;

/** Lets a transaction wait longer for the locks of one that moves rows between workspaces, which takes seconds on a busy machine. */
export async function waitLonger(db: Pick<SystemDb, 'query'>): Promise<void> {
  await db.query(sql.type(NoRows)`select ${LONGER_LOCKS}`);
}

/** slonik retries a transaction after a serialization failure, so each run collects its own wakes. */
async function transact<T>(
  pool: DatabasePool,
  { waker, announcer }: Pick<Pools, 'waker' | 'announcer'>,
  work: (transaction: DatabaseTransactionConnection, wakes: Wakes) => Promise<T>,
): Promise<T> {
  const { result, signals, wakes } = await transaction(pool, async (db) => {
    const wakes = new Wakes();
    const result = await work(db, wakes);
    return { result, signals: await wakes.write(db), wakes };
  });
  wakes.runAfterCommit();
  for (const workspaceId of wakes.withEvents) announcer.announce(workspaceId);
  for (const { workflowId, workspaceId, signal, carrier } of signals)
    waker?.wake(workflowId, workspaceId, signal, carrier);
  return result;
}

/**
 * Like slonik's own, which closes the connection when the work throws. A rolled back connection can be reused, so the
 * error leaves `connect` as a value, and a refused request does not cost the next one a new connection.
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
      // Any other error comes from begin, commit or rollback, and leaves the connection in an unknown state.
      if (rolledBack?.error === error && !(error instanceof BackendTerminatedError)) return { error };
      throw error;
    }
  });
  if ('error' in outcome) throw outcome.error;
  return outcome.result;
}

/** Runs work in a savepoint: an error rolls back its changes, its counts and its wakes, and nothing else. */
export async function savepoint<T>(db: TenantDb, work: (db: TenantDb) => Promise<T>): Promise<T> {
  const wakes = new Wakes();
  const lineSignals = new LineSignals();
  const { workspaceId, aheadMs, autocommit, addressHashes } = db;
  const result = await db.transaction((inner) =>
    work(tenantDb(inner, { workspaceId, aheadMs, wakes, lineSignals, autocommit, addressHashes })),
  );
  db.lineSignals.addAll(lineSignals);
  db.wakes.add(wakes);
  return result;
}

/** Ends the inner transaction of `dryRun`. */
class Rollback extends Error {}

/** Runs work in a transaction and rolls it back, including its statements `autocommit`. @returns the result of the work. */
export async function dryRun<T>(db: TenantDb, work: (db: TenantDb) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined;
  try {
    await savepoint(db, async (inner) => {
      result = { value: await work(Object.assign(inner, { autocommit: inner })) };
      throw new Rollback();
    });
  } catch (error) {
    if (!(error instanceof Rollback)) throw error;
  }
  if (!result) throw new Error('the dry run has no result');
  return result.value;
}

export async function withSystem<T>(pools: Pools, work: (db: SystemTransaction) => Promise<T>): Promise<T> {
  return systemTransaction(pools, pools.system, LIMITED_LOCKS, work);
}

/**
 * Like `withSystem`, for bulk intake of several workspaces. What it stores is bounded to these workspaces by row-level
 * security. It fails soon if a row of one of them is locked.
 */
export async function withIntake<T>(
  pools: ApiPools,
  workspaceIds: readonly string[],
  work: (db: SystemTransaction) => Promise<T>,
): Promise<T> {
  const settings = sql.fragment`${BRIEF_LOCKS}, ${GENERIC_PLANS}, ${intakeOf(workspaceIds)}`;
  return systemTransaction(pools, pools.intake, settings, work);
}

/**
 * Like `withIntake`, for one workspace, which waits for locks and for its share of the connections.
 * @throws Busy
 */
export async function withIntakeShare<T>(
  pools: ApiPools,
  workspaceId: string,
  work: (db: SystemTransaction) => Promise<T>,
): Promise<T> {
  const settings = sql.fragment`${LIMITED_LOCKS}, ${GENERIC_PLANS}, ${intakeOf([workspaceId])}`;
  return pools.systemQueue.run(workspaceId, () => systemTransaction(pools, pools.system, settings, work));
}

const intakeOf = (workspaceIds: readonly string[]): FragmentSqlToken =>
  sql.fragment`set_local('app.intake_workspaces', ${workspaceIds.join(',')})`;

async function systemTransaction<T>(
  pools: Pools,
  pool: DatabasePool,
  settings: FragmentSqlToken,
  work: (db: SystemTransaction) => Promise<T>,
): Promise<T> {
  const { autocommit, addressHashes } = pools;
  return transact(pool, pools, async (transaction, wakes) => {
    await transaction.query(sql.type(NoRows)`select ${settings}`);
    return work(
      Object.assign(transaction, { wakes, autocommit, addressHashes }) as unknown as SystemTransaction,
    );
  });
}

/**
 * Like `withSystem`, for requests, which share the connections fairly.
 * @param payer an agency's id, or the address of a client that is not authenticated yet.
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
 * Looks up a credential on connections reserved for that. A burst of requests with one key shares one lookup. A lookup
 * that has started is not shared, because the key may have been revoked since.
 * @param client the address of the client.
 * @param name identifies the lookup.
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

/** For single statements across workspaces, without the round trips of a transaction. */
export const systemDb = (pools: Pools): SystemDb => pools.system as unknown as SystemDb;
