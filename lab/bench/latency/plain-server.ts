import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import pg from 'pg';
import { loadPeer } from '../support/peers.ts';

/*
 * What the latencies are compared with: Koa and PostgreSQL. `POST /messages` commits the message and adds a job of BullMQ for the
 * worker (`sends/floor.ts`, which creates the tables); `POST /replies` commits the reply and its event, answers, and calls the
 * customer's webhook. No keys, validation, tenants, retries or signatures. Usage:
 * node lab/bench/latency/plain-server.ts '{"databaseUrl", "redisUrl", "webhookUrl"}', with an IPC channel over which it sends its port.
 */
const { databaseUrl, redisUrl, webhookUrl } = JSON.parse(process.argv[2] ?? '') as {
  databaseUrl: string;
  /** null: there is no queue. */
  redisUrl: string | null;
  webhookUrl: string;
};
interface Queue {
  add(name: string, data: unknown, options: object): Promise<unknown>;
}
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
await pool.query(`
  create table if not exists plain_replies (id uuid primary key, at timestamptz, body jsonb);
  create table if not exists plain_events (id uuid primary key, reply_id uuid, event text, body jsonb)`);
const queue = redisUrl === null ? null : await openQueue(redisUrl);

async function openQueue(url: string): Promise<Queue> {
  const { Queue } = await loadPeer<{ Queue: new (name: string, options: object) => Queue }>('bullmq');
  const { hostname: host, port } = new URL(url);
  return new Queue('sends', { connection: { host, port: Number(port) } });
}

async function storeReply(body: object): Promise<string> {
  const client = await pool.connect();
  const [id, event] = [randomUUID(), JSON.stringify({ event: 'message.reply', ...body })];
  try {
    await client.query('begin');
    await client.query({
      name: 'reply',
      text: 'insert into plain_replies (id, at, body) values ($1, now(), $2)',
      values: [id, body],
    });
    await client.query({
      name: 'event',
      text: `insert into plain_events (id, reply_id, event, body) values ($1, $2, 'message.reply', $3)`,
      values: [randomUUID(), id, event],
    });
    await client.query('commit');
    return event;
  } finally {
    client.release();
  }
}

const app = new Koa();
app.use(koaBody());
app.use(async (koa) => {
  const body = koa.request.body as { id: string; lineId: string; address: string; body: string };
  if (koa.path === '/replies') {
    const event = await storeReply(body);
    koa.status = 204;
    setImmediate(() => {
      const headers = { 'content-type': 'application/json' };
      void fetch(webhookUrl, { method: 'POST', headers, body: event }).then((response) => response.text());
    });
    return;
  }
  const { id, lineId, address, body: text } = body;
  await pool.query({
    name: 'message',
    text: `insert into floor_messages (id, line_id, address, body, status) values ($1, $2, $3, $4, 'pending')`,
    values: [id, lineId, address, text],
  });
  await queue?.add('send', body, { removeOnComplete: true });
  koa.status = 202;
  koa.body = { messageId: id };
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address !== 'string') process.send?.({ port: address.port });
});
