import pg from 'pg';
import { loadPeer } from '../support/peers.ts';

/** Stores a body durably. @returns once it is committed. */
export type Store = (id: string, body: unknown) => Promise<unknown>;

export interface StoreOptions {
  databaseUrl: string;
  redisUrl: string | null;
}

const CONNECTIONS = 10;

/** The stand-ins, by name. None has keys, validation or deduplication. */
export const STORES: Record<string, (options: StoreOptions) => Promise<Store>> = {
  'group commit': groupCommit,
  'one insert': oneInsert,
  'pg-boss': pgBoss,
  'graphile-worker': graphileWorker,
  'BullMQ, fsync always': bullMq,
};

async function openTable(databaseUrl: string, table: string): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS });
  await pool.query(`create table if not exists ${table} (id uuid primary key, at timestamptz, body jsonb)`);
  return pool;
}

/** One insert for all waiting requests: the least that a durable intake does. */
async function groupCommit({ databaseUrl }: StoreOptions): Promise<Store> {
  const pool = await openTable(databaseUrl, 'intake');
  let waiting: { id: string; body: unknown; resolve(): void; reject(error: unknown): void }[] = [];
  let isCommitting = false;

  async function commit(): Promise<void> {
    isCommitting = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await pool.query({
          name: 'intake',
          text: 'insert into intake select r.id, now(), r.body from unnest($1::uuid[], $2::jsonb[]) as r (id, body)',
          values: [batch.map(({ id }) => id), batch.map(({ body }) => JSON.stringify(body))],
        });
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isCommitting = false;
  }

  return (id, body) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ id, body, resolve, reject });
      if (!isCommitting) setImmediate(() => void (isCommitting || commit()));
    });
}

async function oneInsert({ databaseUrl }: StoreOptions): Promise<Store> {
  const pool = await openTable(databaseUrl, 'intake_single');
  const text = 'insert into intake_single values ($1, now(), $2)';
  return (id, body) => pool.query({ name: 'intake_single', text, values: [id, JSON.stringify(body)] });
}

interface PgBoss {
  start(): Promise<unknown>;
  createQueue(name: string): Promise<unknown>;
  send(name: string, data: unknown): Promise<unknown>;
}

async function pgBoss({ databaseUrl }: StoreOptions): Promise<Store> {
  const { PgBoss } = await loadPeer<{ PgBoss: new (options: object) => PgBoss }>('pg-boss');
  const boss = new PgBoss({ connectionString: databaseUrl, max: CONNECTIONS });
  await boss.start();
  await boss.createQueue('drip');
  return (_, body) => boss.send('drip', body);
}

interface WorkerUtils {
  migrate(): Promise<void>;
  addJob(name: string, payload: unknown): Promise<unknown>;
}

async function graphileWorker({ databaseUrl }: StoreOptions): Promise<Store> {
  const { makeWorkerUtils } = await loadPeer<{ makeWorkerUtils(options: object): Promise<WorkerUtils> }>(
    'graphile-worker',
  );
  const utils = await makeWorkerUtils({ connectionString: databaseUrl, maxPoolSize: CONNECTIONS });
  await utils.migrate();
  return (_, body) => utils.addJob('drip', body);
}

interface BullMqQueue {
  add(name: string, data: unknown): Promise<unknown>;
}

async function bullMq({ redisUrl }: StoreOptions): Promise<Store> {
  const { Queue } = await loadPeer<{ Queue: new (name: string, options: object) => BullMqQueue }>('bullmq');
  const { hostname: host, port } = new URL(redisUrl ?? '');
  const queue = new Queue('drip', { connection: { host, port: Number(port) } });
  return (_, body) => queue.add('drip', body);
}
