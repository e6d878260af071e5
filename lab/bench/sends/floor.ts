import type { EventEmitter } from 'node:events';
import { newId } from '../../../domain/base/ids.ts';
import { loadPeer } from '../support/peers.ts';
import { createPlainSender, type Taken } from './plain-sender.ts';

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
const { pool, run, inTransaction, insertAttempt, send, deliver } = await createPlainSender({
  databaseUrl,
  carrierUrl,
  secret,
});

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
  const worker = new Worker('sends', async ({ data }) => void (await send(data)), {
    connection,
    concurrency: width,
  });
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
