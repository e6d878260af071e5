import { sql } from 'slonik';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import type { CarrierEvent, CarrierReport } from '#domain/lines/carrier-event.ts';
import { newId } from '#domain/base/ids.ts';
import { callbackKey } from '#providers/carriers/simulated-protocol.ts';
import { eventually, type TestApp } from './app.ts';

interface Inbound {
  lineId: string;
  from: string;
  text?: string;
  autoReply?: boolean;
  replyTo?: string;
  attachments?: object[];
  group?: { id: string; name?: string; participants: string[] };
}

/** Simulates a message from a contact to a line, which arrives some time later. @returns the carrier's id of it. */
export async function writeIn(app: TestApp, inbound: Inbound): Promise<string> {
  const response = await fetch(`${app.url}/simulated/carrier/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(inbound),
  });
  if (!response.ok)
    throw new Error(`the simulated carrier responded with ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { id: string }).id;
}

/** Like `writeIn`, and waits until it has arrived: two messages at once may be stored in either order. */
export async function arrive(app: TestApp, inbound: Inbound): Promise<void> {
  const id = await writeIn(app, inbound);
  await eventually(() =>
    systemDb(app.pools).maybeOneFirst(sql.type(z.object({ isStored: z.boolean() }))`
      select true is_stored from inbound_messages where line_id = ${inbound.lineId} and carrier_message_id = ${id}`),
  );
}

/** Posts events with the simulated carrier's signature. @returns the status of the response. */
export async function callBack(
  app: Pick<TestApp, 'url' | 'config'>,
  lineId: string,
  ...events: CarrierReport[]
): Promise<number> {
  const body = JSON.stringify({ lineId, events });
  const id = newId();
  const at = new Date();
  const signature = new Webhook(callbackKey(app.config.simulator?.secret ?? '')).sign(id, at, body);
  const response = await fetch(`${app.url}/callbacks/carriers/simulated/${lineId}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': signature,
    },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

/** A reply as the carrier reports it. */
export function replyEvent(
  from: string,
  text: string,
  fields: Partial<Extract<CarrierEvent, { kind: 'reply' }>> = {},
) {
  const id = newId();
  return {
    kind: 'reply' as const,
    eventId: id,
    at: new Date(),
    carrierMessageId: id,
    from,
    text,
    attachments: [],
    autoReply: false,
    ...fields,
  };
}
