import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type pg from 'pg';
import { connected } from '../../../db/connection/connected.ts';
import type { Expectation } from './load.ts';

/** A message in the carrier's log. */
export interface AtCarrier {
  text: string;
  lineId: string;
  messageReference: string;
  fault: string | null;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** A customer's server: how often each delivery and each event of a message arrived. */
export async function startReceiver() {
  const deliveries = new Map<string, number>();
  const events = new Map<string, Set<string>>();
  const server = createServer((request, response) => {
    const delivery = String(request.headers['x-svc-delivery-id']);
    deliveries.set(delivery, (deliveries.get(delivery) ?? 0) + 1);
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { event, messageId } = JSON.parse(body) as { event: string; messageId: string };
      const key = `${event} ${messageId}`;
      events.set(key, (events.get(key) ?? new Set()).add(String(request.headers['x-svc-event-id'])));
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/`,
    deliveries,
    events,
    close: () => server.close(),
  };
}

/** Events that happen to a message at most once. */
const ONCE = ['message.sent', 'message.failed', 'message.fallback', 'message.opened'];

/** What the judge requires. */
export interface Promises {
  workspaceIds: readonly string[];
  expected: ReadonlyMap<string, Expectation>;
  /** Texts that arrive one after the other. */
  bubbles?: readonly (readonly string[])[];
  /** The carrier's ids of messages from contacts. */
  replies: readonly string[];
  /** How many messages a line may send, by line. */
  caps: ReadonlyMap<string, number>;
}

interface Message extends pg.QueryResultRow {
  id: string;
  status: string;
  body: string;
  read: boolean;
}

/** Compares what was asked for, what the carrier accepted, what the product says and what the receiver got. */
export async function judge(
  databaseUrl: string,
  { workspaceIds, expected, bubbles = [], replies, caps }: Promises,
  everything: readonly AtCarrier[],
  receiver: Pick<Receiver, 'deliveries' | 'events'>,
): Promise<Record<string, string[]>> {
  return connected(databaseUrl, async (client) => {
    const rows = async <T extends pg.QueryResultRow>(query: string): Promise<T[]> =>
      (await client.query<T>(query, [workspaceIds])).rows;
    const messages = await rows<Message>(
      'select id, status, body, read_at is not null as read from messages where workspace_id = any($1)',
    );
    const deliveries = await rows<{
      id: string;
      success: boolean | null;
      status: string;
      error: string | null;
    }>('select id, success, status, error from webhook_deliveries where workspace_id = any($1)');
    // A webhook that was registered with an earlier release knows none of the events that came after it.
    const unsent = await rows<{
      id: string;
      event: string;
    }>(`select e.id, e.event from events e where e.workspace_id = any($1)
      and exists (select from webhooks w where w.workspace_id = e.workspace_id and e.event = any(w.events)) and not exists (select from webhook_deliveries d where d.workspace_id = e.workspace_id and d.event_id = e.id)`);
    const events = await rows<{ event: string; message: string; count: string }>(
      'select event, message_id as message, count(*) from events where workspace_id = any($1) group by 1, 2',
    );
    const inbound = await rows<{ id: string; announced: boolean }>(
      'select carrier_message_id as id, announced_at is not null as announced from inbound_messages where workspace_id = any($1)',
    );
    const ours = new Set(messages.map(({ id }) => id));
    const accepted = everything.filter(({ messageReference }) => ours.has(messageReference));
    const times = Map.groupBy(accepted, ({ text }) => text);
    const order = [...times.keys()];
    const byMessage = new Map(accepted.map((message) => [message.messageReference, message]));
    const ofLine = Map.groupBy(accepted, ({ lineId }) => lineId);
    const received = Map.groupBy(inbound, ({ id }) => id);
    const has = (event: string) =>
      new Set(events.filter((one) => one.event === event).map(({ message }) => message));
    const [sent, opened, failed, fallback] = [
      has('message.sent'),
      has('message.opened'),
      has('message.failed'),
      has('message.fallback'),
    ];
    const isSent = ({ status }: Message): boolean => status === 'sent' || status === 'delivered';
    const shown = ({ id, status, body }: Message): string =>
      `${id} ${status} ${body} ${byMessage.get(id)?.fault ?? ''}`;
    return {
      lost: [...expected].filter(([text, how]) => how === 'once' && !times.has(text)).map(([text]) => text),
      doubled: [...times].filter(([, those]) => those.length > 1).map(([text]) => text),
      'bubbles out of order': bubbles
        .map((texts) => texts.filter((text) => times.has(text)))
        .filter((texts) =>
          texts.some((text, at) => order.indexOf(text) < order.indexOf(texts[at - 1] ?? text)),
        )
        .map((texts) => texts.join()),
      'caps broken': [...caps]
        .filter(([lineId, cap]) => (ofLine.get(lineId)?.length ?? 0) > cap)
        .map(([lineId]) => `${lineId}: ${ofLine.get(lineId)?.length}`),
      'caps not used': [...caps]
        .filter(([lineId, cap]) => (ofLine.get(lineId)?.length ?? 0) < cap)
        .map(([lineId]) => `${lineId}: ${ofLine.get(lineId)?.length}`),
      'windows broken': [...expected]
        .filter(([text, how]) => how === 'never' && times.has(text))
        .map(([text]) => text),
      'untrue statuses': messages
        .filter((message) => {
          const at = byMessage.get(message.id);
          if (isSent(message) && !at) return true;
          return !isSent(message) && message.status !== 'fallback' && at !== undefined;
        })
        .map(shown),
      'receipts made up': messages
        .filter(({ id, status }) => status === 'delivered' && byMessage.get(id)?.fault === 'lose_message')
        .map(shown),
      'receipts lost': messages
        .filter(({ id, status }) => {
          const fault = byMessage.get(id)?.fault;
          return status === 'sent' && fault !== undefined && fault !== 'lose_message';
        })
        .map(shown),
      'reads lost': messages
        .filter((one) => isSent(one) && byMessage.get(one.id)?.fault === 'report_reversed' && !one.read)
        .map(shown),
      'replies lost': replies.filter((id) => !received.has(id)),
      'replies doubled': [...received].filter(([, those]) => those.length > 1).map(([id]) => id),
      'events missing': messages
        .filter(
          (message) =>
            (isSent(message) && !sent.has(message.id)) ||
            (message.read && !opened.has(message.id)) ||
            (message.status === 'failed' && !failed.has(message.id)) ||
            (message.status === 'fallback' && !fallback.has(message.id)),
        )
        .map(shown),
      'events doubled': [
        ...events.filter(({ event, count }) => ONCE.includes(event) && Number(count) > 1),
        ...[...receiver.events].filter(
          ([key, ids]) => ONCE.includes(key.split(' ')[0] ?? '') && ids.size > 1,
        ),
      ].map((one) => JSON.stringify(one)),
      'events not delivered': unsent.map(({ id, event }) => `${id} ${event}`),
      'deliveries doubled': [...receiver.deliveries].filter(([, count]) => count > 1).map(([id]) => id),
      'deliveries lost': deliveries
        .filter(({ id, success }) => success === true && !receiver.deliveries.has(id))
        .map(({ id }) => id),
      'deliveries failed': deliveries
        .filter(({ success, error }) => success === false && error !== 'interrupted')
        .map(({ id, error }) => `${id} ${error}`),
      'deliveries open': deliveries.filter(({ status }) => status !== 'done').map(({ id }) => id),
    };
  });
}

/** What happened, for the report. */
export async function tally(
  databaseUrl: string,
  workspaceIds: readonly string[],
): Promise<Record<string, string>> {
  return connected(databaseUrl, async (client) => {
    const { rows } = await client.query<Record<string, string>>(
      `select (select count(*) from messages where workspace_id = any($1)) as messages,
        (select count(*) from attempts where workspace_id = any($1)) as attempts,
        (select count(*) from attempts where workspace_id = any($1) and finished_at > started_at + interval '5 s') as "attempts settled late",
        (select count(*) from events where workspace_id = any($1)) as events,
        (select count(*) from webhook_deliveries where workspace_id = any($1)) as deliveries,
        (select count(*) from webhook_deliveries where workspace_id = any($1) and error = 'interrupted') as "deliveries interrupted"`,
      [workspaceIds],
    );
    return rows[0] ?? {};
  });
}
