import { setTimeout as pause } from 'node:timers/promises';
import { EVENT_NAMES } from '../../../domain/events/event.ts';
import { until } from '../../bench/support/waiting.ts';

/** A workspace that the chaos writes through. */
export interface Tenant {
  id: string;
  name: string;
  key: string;
  lineIds: string[];
  /** A line with a cap, to which more is queued than it may send. */
  cappedLineId: string;
}

/** How often the carrier may get a message: once, at most once (it is under a cap), or never. */
export type Expectation = 'once' | 'capped' | 'never';

const DAY = 86_400_000;
const MINUTE = 60_000;
const PATIENCE = 200;
const PATIENCE_MS = 30 * MINUTE;
/** Requests come in at least 40 bursts of at most 250, so that some are in flight whenever something is killed. */
const LEAST_BURSTS = 40;
const BURST = 250;
/** After this time, a contact who got no answer writes again. */
const WRITES_AGAIN_MS = 3 * MINUTE;

/** Repeats a request until it is accepted or refused. Repeats have the same idempotency key. */
export async function insist(
  baseUrl: string,
  key: string,
  method: string,
  path: string,
  body?: object,
  idempotencyKey = '',
): Promise<{ status: number; body: Record<string, never> }> {
  for (let tries = 0; ; tries += 1) {
    try {
      const response = await fetch(baseUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          ...(idempotencyKey !== '' && { 'idempotency-key': idempotencyKey }),
        },
        signal: AbortSignal.timeout(30_000),
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status !== 429 && response.status < 500)
        return { status: response.status, body: JSON.parse(text) as Record<string, never> };
      await pause(response.status === 429 ? 1000 * Number(response.headers.get('retry-after') ?? 1) : 300);
    } catch (error) {
      if (tries > PATIENCE) throw error;
      await pause(300);
    }
  }
}

/** The share of each kind among the messages of a tenant. */
const SHARES = {
  drip: 0.5,
  campaign: 0.25,
  api: 0.08,
  fallback: 0.08,
  inbox: 0.03,
  draft: 0.03,
  capped: 0.03,
};

/** The maximum number of requests per minute and tenant, where endpoints have limits. Drips replace the rest. */
const A_MINUTE: Partial<Record<keyof typeof SHARES, number>> = { api: 40, inbox: 20, draft: 60 };

/** How many messages of each kind are sent. */
function countsOf(total: number, withinMs: number): Record<keyof typeof SHARES, number> {
  const counts = Object.fromEntries(
    Object.entries(SHARES).map(([kind, share]) => [
      kind,
      Math.ceil(
        Math.min(total * share, ((A_MINUTE[kind as keyof typeof SHARES] ?? Infinity) * withinMs) / MINUTE),
      ),
    ]),
  ) as Record<keyof typeof SHARES, number>;
  const missing = total - Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { ...counts, drip: counts.drip + Math.max(0, missing) };
}

export interface Load {
  /** The number of messages. */
  total: number;
  /** They are sent in bursts within this time. */
  withinMs: number;
  random: () => number;
  webhookUrl: string;
  /** The events of the webhook; absent: all of this checkout. An earlier release knows fewer. */
  events?: readonly string[];
  /** Half of the messages through the API are three bubbles. An earlier release knows none. */
  hasBubbles?: boolean;
  /** The account of the SMS fallback. */
  fallback?: object;
  /** Sends a message from a contact until the product has confirmed it. @returns the carrier's id of the message. */
  writeIn?: (lineId: string, from: string, text: string) => Promise<string>;
}

/** What the callers have been promised. */
export interface Promised {
  texts: Map<string, Expectation>;
  /** Texts that arrive one after the other. */
  bubbles: string[][];
  /** The carrier's ids of messages from contacts. */
  replies: string[];
}

/** Sends messages of all kinds. */
export async function sendEverything(
  baseUrl: string,
  tenant: Tenant,
  {
    total,
    withinMs,
    random,
    webhookUrl,
    events = EVENT_NAMES,
    hasBubbles = false,
    fallback = { provider: 'simulated' },
    writeIn,
  }: Load,
): Promise<Promised> {
  const { name, key, lineIds, cappedLineId } = tenant;
  const expected = new Map<string, Expectation>();
  const replies: string[] = [];
  const startedAt = Date.now();
  const ask = (method: string, path: string, body?: object, idempotencyKey?: string) =>
    insist(baseUrl, key, method, path, body, idempotencyKey);
  const must = async (...request: Parameters<typeof ask>) => {
    const { status, body } = await ask(...request);
    if (status >= 300) throw new Error(`${request[1]} was answered ${status} ${JSON.stringify(body)}`);
    return body as Record<string, any>; // oxlint-disable-line no-explicit-any
  };
  let contacts = 0;
  const prefix = 200 + Math.floor(random() * 700);
  const phone = (exchange: number, digits: number): string =>
    `+1${prefix}${200 + (exchange % 700)}${String(digits).padStart(4, '0')}`;
  /** @param digits the last four, which select the carrier's behavior. */
  const contact = (digits?: number): string => {
    contacts += 1;
    return digits === undefined
      ? phone(Math.floor(contacts / 4000), 5000 + (contacts % 4000))
      : phone(contacts, digits);
  };
  // All draws precede the first request, so that the seed alone decides.
  const counts = countsOf(total, withinMs);
  const bursts = Math.max(LEAST_BURSTS, Math.ceil(total / BURST));
  const count = (kind: keyof typeof SHARES) =>
    Array.from({ length: counts[kind] }, (_, index) => ({
      index,
      afterMs: (Math.floor(random() * bursts) / bursts) * withinMs,
      aheadMs: random() < 0.5 ? -DAY : random() * MINUTE,
      isRepeated: random() < 0.3,
    }));
  const eachInTime = async <Item extends { afterMs: number }>(
    items: readonly Item[],
    work: (item: Item) => Promise<void>,
  ): Promise<void> => {
    await Promise.all(
      items.map(async (item) => {
        await pause(Math.max(0, startedAt + item.afterMs - Date.now()));
        await work(item);
      }),
    );
  };
  const will = (text: string, expectation: Expectation = 'once'): string => {
    expected.set(text, expectation);
    return text;
  };

  const lineOf = (index: number): string => lineIds[index % lineIds.length] ?? '';
  await must('POST', '/api/webhooks', { url: webhookUrl, events }, `${name} webhook`);
  await must('PATCH', '/api/workspace/fallback-config', { enabled: true, ...fallback });
  await must('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });

  const drips = count('drip').map(({ index, afterMs }) => ({
    afterMs,
    body: {
      recipientPhone: contact(index % 20 === 0 ? 6 : undefined),
      message: will(`${name} drip ${index}`),
    },
  }));
  const fallbacks = count('fallback').map(({ index, afterMs }) => ({
    afterMs,
    body: {
      recipientPhone: contact(1),
      message: `${name} primary ${index}`,
      smsFallbackMessage: will(`${name} fallback ${index}`),
      sendFallbackSmsOnFailed: true,
    },
  }));
  const capped = count('capped').map(({ index, afterMs }) => ({
    afterMs,
    body: {
      recipientPhone: contact(),
      fromLineId: cappedLineId,
      messageType: 'sms',
      message: will(`${name} capped ${index}`, 'capped'),
    },
  }));
  const closed = count('capped').map(({ index, afterMs }) => ({
    afterMs,
    body: { recipientPhone: contact(), message: will(`${name} closed ${index}`, 'never'), ...closedWindow() },
  }));
  const single = count('api').map(({ index, afterMs, aheadMs, isRepeated }) => {
    const id = `${name} api ${index}`;
    const isOne = !hasBubbles || index % 2 === 0;
    const texts = isOne ? [will(id)] : ['first', 'second', 'third'].map((which) => will(`${id} ${which}`));
    const message = isOne ? id : texts;
    return { id, texts, afterMs, aheadMs, isRepeated, body: { recipientPhone: contact(), message } };
  });
  const campaigns = Map.groupBy(
    count('campaign').map(({ index, afterMs }) => ({
      afterMs,
      firstName: `${name}-${index}`,
      phone: contact(),
    })),
    ({ afterMs }) => afterMs,
  );
  const answers = count('inbox').map(({ index, afterMs }) => ({
    afterMs,
    phone: contact(),
    lineId: lineOf(index),
    message: will(`${name} inbox ${index}`),
  }));
  const drafts = count('draft').map(({ index, afterMs }) => ({
    afterMs,
    phone: contact(),
    lineId: lineOf(index + 7),
    message: will(`${name} draft ${index}`),
  }));

  async function simulated(lineId: string, from: string, text: string): Promise<string> {
    return (await must('POST', '/simulated/carrier/inbound', { lineId, from, text }))['id'];
  }
  const hear = async (from: string, lineId: string): Promise<void> => {
    replies.push(await (writeIn ?? simulated)(lineId, from, 'Tell me more'));
  };
  await Promise.all([
    eachInTime([...drips, ...fallbacks, ...capped, ...closed], async ({ body }) => {
      await must('POST', '/api/drip', body, body.message);
    }),
    eachInTime(single, async ({ id, body, aheadMs, isRepeated }) => {
      // The clock of the caller is a day behind, or up to a minute ahead.
      const request = { ...body, scheduledDate: new Date(Date.now() + aheadMs).toISOString() };
      await must('POST', '/api/messages', request, id);
      if (isRepeated) await must('POST', '/api/messages', request, id);
    }),
    eachInTime(
      [...campaigns].map(([afterMs, leads]) => ({ afterMs, leads })),
      async ({ afterMs, leads }) => {
        for (const { firstName } of leads) will(`Campaign for ${firstName}`);
        const id = `${name} campaign ${afterMs}`;
        const people = leads.map(({ firstName, phone }) => ({ firstName, phone }));
        const { list } = await must('POST', '/api/lists', { name: id }, `${id} list`);
        await must('POST', '/api/leads', { leads: people, listId: list._id }, `${id} leads`);
        const steps = [{ message: 'Campaign for {{ firstName }}', delay: {} }];
        await must('POST', '/api/campaigns', { name: id, steps, listId: list._id, start: true }, id);
      },
    ),
    eachInTime(answers, async ({ phone, lineId, message }) => {
      await hear(phone, lineId);
      await until(async () => {
        await pause(2000 * (1 + Math.random()));
        return (await ask('GET', `/api/conversations/${phone}`)).status === 200;
      }, PATIENCE_MS);
      await must('POST', '/api/inbox/send-reply', { phone, message }, message);
    }),
    approveDrafts(),
  ]);
  return { texts: expected, bubbles: single.map(({ texts }) => texts), replies };

  async function approveDrafts(): Promise<void> {
    const open = new Map(drafts.map(({ phone, message }) => [phone, message]));
    const heardAt = new Map<string, number>();
    const write = async (phone: string, lineId: string): Promise<void> => {
      await hear(phone, lineId);
      heardAt.set(phone, performance.now());
    };
    const path = '/api/knowledge-base/auto-replies';
    const written = eachInTime(drafts, ({ phone, lineId }) => write(phone, lineId));
    await until(async () => {
      await pause(2000);
      const { autoReplies } = await must('GET', `${path}?status=drafted&limit=200`);
      for (const { replyId, conversationRecipient } of autoReplies) {
        const message = open.get(conversationRecipient);
        if (message === undefined) continue;
        const decision = { replyId, action: 'approve', message };
        const { status, body } = await ask('POST', path, decision, `${message} ${replyId}`);
        // Approved: by a request whose response was lost.
        if (status === 200 || body['status'] === 'approved') open.delete(conversationRecipient);
      }
      // A draft fails if the model is away. There is another one when the contact writes again.
      for (const { phone, lineId } of drafts) {
        const at = heardAt.get(phone);
        if (open.has(phone) && at !== undefined && performance.now() - at > WRITES_AGAIN_MS)
          await write(phone, lineId);
      }
      return open.size === 0;
    }, withinMs + PATIENCE_MS);
    await written;
  }
}

/** A window that is closed for the next hours. */
function closedWindow() {
  const inHours = (hours: number): string =>
    new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
  return { timezone: 'UTC', sendWindowStart: inHours(5), sendWindowEnd: inHours(6) };
}
