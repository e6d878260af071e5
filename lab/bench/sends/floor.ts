import type { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { Agent, request } from 'undici';
import { newId } from '../../../domain/base/ids.ts';
import { loadPeer } from '../support/peers.ts';

/*
 * A plain worker with the effects of a send: it takes a message (`skip locked`, or as a job of BullMQ), commits its attempt,
 * calls the carrier, and commits the outcome with its event; receipts mark the message. No pacing, no tenants, no
 * reconciliation. Usage:
 * node lab/bench/sends/floor.ts '{"databaseUrl", "carrierUrl", "secret", "width", "queue"}', with an IPC channel: `fill` queues
 * the stored messages in BullMQ, `go` starts to send. `queue` is null without BullMQ.
 */
const { databaseUrl, carrierUrl, secret, width, queue } = JSON.parse(process.argv[2] ?? '') as {
  databaseUrl: string;
  carrierUrl: string;
  secret: string;
  width: number;
  /** A Redis for BullMQ. */
  queue: { redisUrl: string } | null;
};
const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 });
const agent = new Agent({ connections: 128 });
await pool.query(`
  create table if not exists floor_messages (id text primary key, arrival bigint generated always as identity, line_id text,
    address text, body text, status text, carrier_message_id text, sent_at timestamptz, delivered_at timestamptz);
  create index if not exists floor_queue on floor_messages (arrival) where status = 'pending';
  create index if not exists floor_carrier on floor_messages (carrier_message_id) where carrier_message_id is not null;
  create table if not exists floor_attempts (id text primary key, message_id text, line_id text, address text,
    started_at timestamptz, outcome text, finished_at timestamptz);
  create table if not exists floor_events (id text primary key, message_id text, event text, body text)`);

const receipts = createServer((incoming, response) => {
  let body = '';
  incoming.setEncoding('utf8').on('data', (part: string) => (body += part));
  incoming.on('end', async () => {
    if (incoming.method !== 'POST') return response.writeHead(405).end();
    const { events } = JSON.parse(body) as { events: { carrierMessageId: string }[] };
    const { rowCount } = await run(
      'receipt',
      `update floor_messages set status = 'delivered', delivered_at = now() where carrier_message_id = $1`,
      [events[0]?.carrierMessageId],
    );
    // The carrier repeats a receipt that came before the outcome was committed.
    return response.writeHead(rowCount === 0 ? 503 : 200).end();
  });
});
await new Promise<void>((resolve) => receipts.listen(0, '127.0.0.1', resolve));
const { port } = receipts.address() as AddressInfo;
const callbackUrl = `http://127.0.0.1:${port}/callbacks/carriers/simulated/`;

const run = (name: string, text: string, values: unknown[], on: pg.Pool | pg.PoolClient = pool) =>
  on.query({ name, text, values });

interface Taken {
  id: string;
  lineId: string;
  address: string;
  body: string;
}

async function inTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } finally {
    client.release();
  }
}

const insertAttempt = (client: pg.PoolClient, attemptId: string, { id, lineId, address }: Taken) =>
  run(
    'attempt',
    'insert into floor_attempts (id, message_id, line_id, address, started_at) values ($1, $2, $3, $4, now())',
    [attemptId, id, lineId, address],
    client,
  );

/** @returns whether there was a message. */
async function sendNext(): Promise<boolean> {
  const attemptId = newId();
  const taken = await inTransaction(async (client) => {
    const { rows } = await run(
      'take',
      `update floor_messages m set status = 'sending' from (
         select id from floor_messages where status = 'pending' order by arrival limit 1 for update skip locked) next
       where m.id = next.id returning m.id, m.line_id "lineId", m.address, m.body`,
      [],
      client,
    );
    const [message] = rows as Taken[];
    if (message) await insertAttempt(client, attemptId, message);
    return message;
  });
  if (taken) await deliver(attemptId, taken);
  return taken !== undefined;
}

/** Sends the message of a job. */
async function sendJob(message: Taken): Promise<void> {
  const attemptId = newId();
  await inTransaction(async (client) => {
    await run('sending', `update floor_messages set status = 'sending' where id = $1`, [message.id], client);
    await insertAttempt(client, attemptId, message);
  });
  await deliver(attemptId, message);
}

async function deliver(attemptId: string, taken: Taken): Promise<void> {
  const { statusCode, body } = await request(`${carrierUrl}/carrier/messages`, {
    dispatcher: agent,
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      clientReference: attemptId,
      messageReference: taken.id,
      lineId: taken.lineId,
      channel: 'imessage',
      from: '+14155550100',
      to: taken.address,
      text: taken.body,
      attachments: [],
      callbackUrl: callbackUrl + taken.lineId,
    }),
  });
  const { id } = (await body.json()) as { id: string };
  if (statusCode > 299) throw new Error(`the carrier answered ${statusCode}`);
  await inTransaction(async (client) => {
    await run(
      'outcome',
      `update floor_attempts set outcome = 'accepted', finished_at = now() where id = $1`,
      [attemptId],
      client,
    );
    await run(
      'sent',
      `update floor_messages set status = 'sent', sent_at = now(), carrier_message_id = $2 where id = $1`,
      [taken.id, id],
      client,
    );
    const event = JSON.stringify({ event: 'message.sent', messageId: taken.id, message: taken.body });
    await run(
      'event',
      `insert into floor_events (id, message_id, event, body) values ($1, $2, 'message.sent', $3)`,
      [newId(), taken.id, event],
      client,
    );
  });
}

const jobs = queue && (await openQueue(queue));
process.send?.('ready');
process.on('message', async (order: 'fill' | 'go') => {
  if (order === 'fill') {
    await jobs?.fill();
  } else if (jobs) {
    await jobs.start();
  } else {
    await Promise.all(
      Array.from({ length: width }, async () => {
        while (await sendNext());
      }),
    );
  }
  process.send?.(order);
});

interface BullMq {
  Queue: new (
    name: string,
    options: object,
  ) => {
    pause(): Promise<void>;
    resume(): Promise<void>;
    addBulk(jobs: { name: string; data: Taken; opts: object }[]): Promise<unknown>;
  };
  Worker: new (name: string, work: (job: { data: Taken }) => Promise<void>, options: object) => EventEmitter;
}

async function openQueue({ redisUrl }: { redisUrl: string }) {
  const { Queue, Worker } = await loadPeer<BullMq>('bullmq');
  const { hostname: host, port: redisPort } = new URL(redisUrl);
  const connection = { host, port: Number(redisPort), maxRetriesPerRequest: null };
  const sends = new Queue('sends', { connection });
  const worker = new Worker('sends', async ({ data }) => sendJob(data), { connection, concurrency: width });
  worker.on('failed', (_, error) => {
    throw error;
  });
  return {
    async fill() {
      await sends.pause();
      const { rows } = await pool.query<Taken>(
        `select id, line_id "lineId", address, body from floor_messages where status = 'pending' order by arrival`,
      );
      await sends.addBulk(rows.map((data) => ({ name: 'send', data, opts: { removeOnComplete: true } })));
    },
    start: () => sends.resume(),
  };
}
