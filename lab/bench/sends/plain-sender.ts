import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { Agent, request } from 'undici';
import { newId } from '../../../domain/base/ids.ts';

export interface Taken {
  id: string;
  lineId: string;
  address: string;
  body: string;
}

/** The effects of a send without pacing, tenants or reconciliation: an attempt, the carrier's call, the outcome with its event. */
export interface PlainSender {
  pool: pg.Pool;
  run(name: string, text: string, values: unknown[], on?: pg.Pool | pg.PoolClient): Promise<pg.QueryResult>;
  inTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  insertAttempt(client: pg.PoolClient, attemptId: string, message: Taken): Promise<unknown>;
  /** Commits the attempt and delivers. @returns the id of the event. */
  send(message: Taken): Promise<string>;
  deliver(attemptId: string, message: Taken): Promise<string>;
}

/** Creates the tables, and starts a server that marks messages by their receipts. @param onReceipt called after the commit. */
export async function createPlainSender({
  databaseUrl,
  carrierUrl,
  secret,
  onReceipt,
}: {
  databaseUrl: string;
  carrierUrl: string;
  secret: string;
  onReceipt?: (message: { lineId: string; eventId: string }) => Promise<unknown>;
}): Promise<PlainSender> {
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

  const run: PlainSender['run'] = (name, text, values, on = pool) => on.query({ name, text, values });

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

  async function insertEvent(event: string, messageId: string, on: pg.PoolClient): Promise<string> {
    const id = newId();
    const body = JSON.stringify({ event, messageId, message: 'Bench' });
    await run(
      'event',
      'insert into floor_events (id, message_id, event, body) values ($1, $2, $3, $4)',
      [id, messageId, event, body],
      on,
    );
    return id;
  }

  const mark = (client: pg.Pool | pg.PoolClient, carrierMessageId: string | undefined) =>
    run(
      'receipt',
      `update floor_messages set status = 'delivered', delivered_at = now() where carrier_message_id = $1
       returning id, line_id "lineId"`,
      [carrierMessageId],
      client,
    );

  /** @returns whether the message is known. */
  async function receive(carrierMessageId: string | undefined): Promise<boolean> {
    if (!onReceipt) return (await mark(pool, carrierMessageId)).rowCount !== 0;
    const event = await inTransaction(async (client) => {
      const [message] = (await mark(client, carrierMessageId)).rows as Taken[];
      if (!message) return null;
      const eventId = await insertEvent('message.delivered', message.id, client);
      return { lineId: message.lineId, eventId };
    });
    if (event) await onReceipt(event);
    return event !== null;
  }

  const receipts = createServer((incoming, response) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (part: string) => (body += part));
    incoming.on('end', async () => {
      if (incoming.method !== 'POST') return response.writeHead(405).end();
      const { events } = JSON.parse(body) as { events: { carrierMessageId: string }[] };
      // The carrier repeats a receipt that came before the outcome was committed.
      return response.writeHead((await receive(events[0]?.carrierMessageId)) ? 200 : 503).end();
    });
  });
  await new Promise<void>((resolve) => receipts.listen(0, '127.0.0.1', resolve));
  const { port } = receipts.address() as AddressInfo;
  const callbackUrl = `http://127.0.0.1:${port}/callbacks/carriers/simulated/`;

  const insertAttempt: PlainSender['insertAttempt'] = (client, attemptId, { id, lineId, address }) =>
    run(
      'attempt',
      'insert into floor_attempts (id, message_id, line_id, address, started_at) values ($1, $2, $3, $4, now())',
      [attemptId, id, lineId, address],
      client,
    );

  async function deliver(attemptId: string, taken: Taken): Promise<string> {
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
    return inTransaction(async (client) => {
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
      return insertEvent('message.sent', taken.id, client);
    });
  }

  return {
    pool,
    run,
    inTransaction,
    insertAttempt,
    async send(message) {
      const attemptId = newId();
      await inTransaction(async (client) => {
        await run(
          'sending',
          `update floor_messages set status = 'sending' where id = $1`,
          [message.id],
          client,
        );
        await insertAttempt(client, attemptId, message);
      });
      return deliver(attemptId, message);
    },
    deliver,
  };
}
