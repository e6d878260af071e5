import { fileURLToPath } from 'node:url';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { Client, Connection } from '@temporalio/client';
import { createPlainSender, type Taken } from '../sends/plain-sender.ts';

/*
 * The worker of `plain-workflow.ts`, with the server for the carrier's receipts, each of which is an event for the webhook.
 * Usage: node lab/bench/day/plain-worker.ts '{"databaseUrl", "carrierUrl", "secret", "webhookUrl", "address"}', with an IPC channel.
 */
const { databaseUrl, carrierUrl, secret, webhookUrl, address } = JSON.parse(process.argv[2] ?? '') as Record<
  'databaseUrl' | 'carrierUrl' | 'secret' | 'webhookUrl' | 'address',
  string
>;
const client = new Client({ connection: await Connection.connect({ address }) });
const { run, send } = await createPlainSender({
  databaseUrl,
  carrierUrl,
  secret,
  onReceipt: ({ lineId, eventId }) =>
    client.workflow.getHandle(`plain:${lineId}`).signal('eventAdded', eventId),
});

const activities = {
  /** @returns the id of the event that it was sent. */
  async sendMessage(messageId: string): Promise<string> {
    const { rows } = await run(
      'message',
      `select id, line_id "lineId", address, body from floor_messages where id = $1`,
      [messageId],
    );
    const [message] = rows as Taken[];
    if (!message) throw new Error(`there is no message ${messageId}`);
    return send(message);
  },
  async deliverEvent(eventId: string): Promise<void> {
    const { rows } = await run('delivery', 'select body from floor_events where id = $1', [eventId]);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(webhookUrl, { method: 'POST', headers, body: rows[0].body as string });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`the webhook answered ${response.status}`);
  },
};
export type PlainActivities = typeof activities;

Runtime.install({ logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error: console.error } });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue: 'plain',
  workflowsPath: fileURLToPath(new URL('plain-workflow.ts', import.meta.url)),
  activities,
});
process.send?.('ready');
await worker.run();
