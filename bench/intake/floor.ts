import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import pg from 'pg';

/*
 * A minimal durable intake: Koa, a JSON body, and one insert for all waiting requests, which are acknowledged after the
 * commit. No key, no validation, no deduplication. Usage: node bench/intake/floor.ts DATABASE_URL, with an IPC channel
 * over which it sends its port.
 */
const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
await pool.query('create table if not exists intake (id uuid primary key, at timestamptz, body jsonb)');

interface Waiting {
  id: string;
  body: unknown;
  resolve(): void;
  reject(error: unknown): void;
}
let waiting: Waiting[] = [];
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

const app = new Koa();
app.use(koaBody());
app.use(async (koa) => {
  const id = randomUUID();
  await new Promise<void>((resolve, reject) => {
    waiting.push({ id, body: koa.request.body, resolve, reject });
    if (!isCommitting) setImmediate(() => void (isCommitting || commit()));
  });
  koa.status = 202;
  koa.body = { messageId: id };
});
const server = app.listen(0, () => {
  const address = server.address();
  if (address && typeof address !== 'string') process.send?.({ port: address.port });
});
