import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { createReports, refuseInvalid, serve } from './stand-in-server.ts';

/** How the next messages to a recipient are treated. */
export type LinqFault =
  | { kind: 'error'; status: number; code: number; message: string }
  /** The message is accepted, but the response is lost, once or each time, or late. */
  | { kind: 'response_lost'; times?: number }
  | { kind: 'response_late' }
  /** The message is accepted, and the failure reported afterwards. */
  | { kind: 'error_later'; code: number; message: string };

export interface LinqMessage {
  id: string;
  chatId: string;
  /** The recipient, or the first of a group. */
  to: string;
  /** All of them. */
  recipients: string[];
  text: string;
  media: string[];
  idempotencyKey: string | null;
  preferredService: string | null;
  replyTo: string | null;
  effect: { type: string; name: string } | null;
  status: string;
  createdAt: Date;
}

export interface LinqSubscription {
  id: string;
  url: string;
  secret: string;
  events: string[];
  /** Empty: all of the account. */
  numbers: string[];
  isActive: boolean;
}

export interface LinqStandIn {
  url: string;
  /** All accepted messages, in order. */
  sent: readonly LinqMessage[];
  /** The requests that act on messages and chats, without those that send. */
  actions: readonly { method: string; path: string; body: unknown }[];
  /** The parts of what contacts wrote, by its id. The test stores them. */
  written: Map<string, object[]>;
  numbers: Set<string>;
  subscriptions: LinqSubscription[];
  /** The largest page of a list, whatever was asked for. */
  maxPageSize: number;
  fault(to: string, fault: LinqFault | null): void;
  withoutIMessage(number: string): void;
  /** The contacts whose chats are `OPTED_OUT`. */
  optedOut: Set<string>;
  /** Posts an event to the subscriptions. @returns the statuses of the responses. */
  report(type: string, data: object): Promise<number[]>;
  stop(): Promise<void>;
}

const Phone = z.string().regex(/^\+\d{8,15}$/);
const Handle = z.union([Phone, z.email()]);
const Part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), value: z.string().min(1) }),
  z.object({ type: z.literal('media'), url: z.url({ protocol: /^https$/ }) }),
]);
const Content = z.object({
  parts: z.array(Part).min(1).max(100),
  idempotency_key: z.string().max(255).optional(),
  preferred_service: z.enum(['iMessage', 'RCS', 'SMS']).optional(),
  reply_to: z.object({ message_id: z.string() }).optional(),
  effect: z.object({ type: z.enum(['screen', 'bubble']), name: z.string() }).optional(),
});
type Content = z.infer<typeof Content>;
const NewChat = z.object({ from: Phone, to: z.array(z.string()).min(1), message: Content });
const NewCard = z.object({
  phone_number: Phone,
  first_name: z.string().min(1),
  last_name: z.string().optional(),
  image_url: z.url().optional(),
});
const NewSubscription = z.object({
  target_url: z.url(),
  subscribed_events: z.array(z.string()).min(1),
  phone_numbers: z.array(Phone).default([]),
});

const ChangedSubscription = NewSubscription.partial().extend({ is_active: z.boolean().optional() });

const LATE_MS = 3_000;
const LINK = /https?:\/\//;

/** Simulates Linq's Partner API, version 3, written from its documentation and its public client. */
export async function startLinq(token: string): Promise<LinqStandIn> {
  const sent: LinqMessage[] = [];
  const actions: { method: string; path: string; body: unknown }[] = [];
  const chats: { id: string; handles: string[] }[] = [];
  const isGroup = (chatId: string): boolean => (chatOf(chatId)?.handles.length ?? 0) > 1;
  const chatOf = (chatId: string | undefined) => chats.find(({ id }) => id === chatId);
  const chatResource = ({ id, handles }: { id: string; handles: string[] }) => ({
    id,
    is_group: handles.length > 1,
    display_name: handles.join(', '),
    health_status: {
      status: handles.some((handle) => standIn.optedOut.has(handle)) ? 'OPTED_OUT' : 'HEALTHY',
      doc_url: 'https://docs.linqapp.com/guides/chats/chat-health',
      updated_at: new Date().toISOString(),
    },
    handles: [
      { handle: [...standIn.numbers][0], is_me: true },
      ...handles.map((handle) => ({ handle, is_me: false })),
    ],
  });
  const cards: (z.infer<typeof NewCard> & { is_active: boolean })[] = [];
  const faults = new Map<string, LinqFault>();
  const asSms = new Set<string>();
  const stopping = new AbortController();
  const reports = createReports();

  /** Standard Webhooks. */
  const signed = (secret: string, id: string, body: string): Record<string, string> => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    return {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
  };

  const report: LinqStandIn['report'] = async (type, data) =>
    Promise.all(
      standIn.subscriptions
        .filter(({ events, isActive }) => isActive && events.includes(type))
        .map(async ({ url, secret }) => {
          const id = randomUUID();
          const body = JSON.stringify({
            api_version: 'v3',
            webhook_version: new URL(url).searchParams.get('version'),
            event_type: type,
            event_id: id,
            created_at: new Date().toISOString(),
            trace_id: randomBytes(16).toString('hex'),
            partner_id: 'partner',
            data,
          });
          return (await fetch(url, { method: 'POST', headers: signed(secret, id, body), body })).status;
        }),
    );

  async function deliver(message: LinqMessage, fault: LinqFault | undefined): Promise<void> {
    message.status = 'sent';
    await report('message.sent', eventOf(message));
    if (fault?.kind === 'error_later') {
      message.status = 'failed';
      const { code, message: reason } = fault;
      const failedAt = new Date().toISOString();
      await report('message.failed', { message_id: message.id, code, reason, failed_at: failedAt });
      return;
    }
    message.status = 'delivered';
    await report('message.delivered', eventOf(message));
  }

  const eventOf = (message: LinqMessage) => ({
    id: message.id,
    chat: {
      id: message.chatId,
      is_group: isGroup(message.chatId),
      owner_handle: { handle: [...standIn.numbers][0] },
    },
    direction: 'outbound',
    sender_handle: { handle: [...standIn.numbers][0], is_me: true },
    service: serviceOf(message),
    parts: partsOf(message),
    idempotency_key: message.idempotencyKey,
    sent_at: message.createdAt.toISOString(),
  });

  const serviceOf = ({ to, preferredService }: LinqMessage): string =>
    asSms.has(to) || preferredService === 'SMS' ? 'SMS' : 'iMessage';

  const resource = (message: LinqMessage) => ({
    id: message.id,
    chat_id: message.chatId,
    created_at: message.createdAt.toISOString(),
    delivery_status: message.status,
    is_from_me: true,
    is_read: false,
    parts: partsOf(message),
    sent_at: null,
    service: serviceOf(message),
  });

  const standIn: LinqStandIn = {
    url: '',
    sent,
    actions,
    written: new Map(),
    numbers: new Set(['+14155550111']),
    subscriptions: [],
    maxPageSize: 100,
    fault: (to, fault) => void (fault === null ? faults.delete(to) : faults.set(to, fault)),
    withoutIMessage: (number) => void asSms.add(number),
    optedOut: new Set(),
    report,
    async stop() {
      stopping.abort();
      await reports.settled();
      await server.stop();
    },
  };

  const routes = new Router({ prefix: '/v3' });
  routes.use(async (context, next) => {
    if (context.get('authorization') === `Bearer ${token}`) return next();
    refuse(context, 401, 2004, 'Unauthorized');
  });

  /** @returns the message; null: it was refused, or its response is lost. */
  async function take(
    context: Context,
    { id: chatId, handles }: { id: string; handles: string[] },
    content: Content,
  ): Promise<LinqMessage | null> {
    const [to = ''] = handles;
    const fault = faults.get(to);
    if (fault?.kind === 'error') {
      refuse(context, fault.status, fault.code, fault.message);
      return null;
    }
    const texts = content.parts.flatMap((part) => (part.type === 'text' ? [part.value] : []));
    const key = content.idempotency_key ?? null;
    let message = sent.find(({ idempotencyKey }) => key !== null && idempotencyKey === key);
    if (!message) {
      message = {
        id: randomUUID(),
        chatId,
        to,
        recipients: handles,
        text: texts.join('\n'),
        media: content.parts.flatMap((part) => (part.type === 'media' ? [part.url] : [])),
        idempotencyKey: key,
        preferredService: content.preferred_service ?? null,
        replyTo: content.reply_to?.message_id ?? null,
        effect: content.effect ?? null,
        status: 'pending',
        createdAt: new Date(),
      };
      sent.push(message);
      if (!chatOf(chatId)) chats.push({ id: chatId, handles });
      reports.add(deliver(message, fault));
    }
    if (fault?.kind === 'response_lost' && (fault.times ?? Infinity) > 0) {
      if (fault.times !== undefined) fault.times -= 1;
      context.respond = false;
      context.req.socket.destroy();
      return null;
    }
    if (fault?.kind === 'response_late') await pause(LATE_MS, undefined, { signal: stopping.signal });
    return message;
  }

  routes.post('/chats', async (context) => {
    const { from, to, message: content } = NewChat.parse(context.request.body);
    if (!standIn.numbers.has(from)) return refuse(context, 403, 2006, 'Phone number permission denied');
    if (to.some((handle) => !Handle.safeParse(handle).success))
      return refuse(context, 400, 1002, 'Phone number must be in E.164 format');
    if (content.parts.some((part) => part.type === 'text' && LINK.test(part.value)))
      return refuse(context, 400, 1005, 'The first message of a chat cannot contain a link');
    const key = content.idempotency_key;
    const repeated = sent.find(({ idempotencyKey }) => key !== undefined && idempotencyKey === key);
    const chat = chatOf(repeated?.chatId) ??
      (to.length === 1 ? chats.find(({ handles }) => handles.join() === to.join()) : undefined) ?? {
        id: randomUUID(),
        handles: to,
      };
    const message = await take(context, chat, content);
    if (!message) return;
    context.status = 201;
    context.body = {
      chat: { ...chatResource(chat), service: serviceOf(message), message: resource(message) },
    };
  });
  routes.get('/chats', (context) => {
    const found = chats.filter(({ handles }) => handles.includes(String(context.query['to'])));
    context.body = { chats: found.map(chatResource), next_cursor: null };
  });
  const chatIn = (context: Context) => chatOf((context['params'] as Record<string, string>)['chat']);
  routes.get('/chats/:chat', (context) => {
    const chat = chatIn(context);
    if (!chat) return refuse(context, 404, 2001, 'Chat not found');
    context.body = chatResource(chat);
  });
  routes.post('/chats/:chat/messages', async (context) => {
    const { message: content } = z.object({ message: Content }).parse(context.request.body);
    const chat = chatIn(context);
    if (!chat) return refuse(context, 404, 2001, 'Chat not found');
    const message = await take(context, chat, content);
    if (message) context.body = { chat_id: chat.id, message: resource(message) };
  });
  routes.get('/chats/:chat/messages', (context) => {
    if (!chatIn(context)) return refuse(context, 404, 2001, 'Chat not found');
    const start = Number(context.query['cursor'] ?? 0);
    const size = Math.min(Number(context.query['limit'] ?? 20), standIn.maxPageSize);
    const found = sent.filter(({ chatId }) => chatId === context.params['chat']).toReversed();
    context.body = {
      messages: found.slice(start, start + size).map(resource),
      next_cursor: start + size < found.length ? String(start + size) : null,
    };
  });
  const act = (context: Context, status: number, body: object | null): void => {
    actions.push({ method: context.method, path: context.path, body: context.request.body });
    context.status = status;
    if (body) context.body = body;
  };
  routes.get('/contact_card', (context) => {
    const number = String(context.query['phone_number']);
    context.body = { contact_cards: cards.filter((card) => card.phone_number === number) };
  });
  routes.post('/contact_card', (context) => {
    const card = { ...NewCard.parse(context.request.body), is_active: true };
    if (cards.some(({ phone_number: number }) => number === card.phone_number))
      return refuse(context, 409, 2015, 'A contact card exists: update it');
    cards.push(card);
    act(context, 200, card);
  });
  routes.patch('/contact_card', (context) => {
    const card = cards.find(({ phone_number: number }) => number === context.query['phone_number']);
    if (!card) return refuse(context, 404, 2002, 'Contact card not found');
    Object.assign(card, NewCard.partial().parse(context.request.body));
    act(context, 200, card);
  });
  routes.post('/chats/:chat/share_contact_card', (context) => {
    if (cards.length === 0) return refuse(context, 400, 1005, 'No contact card is configured');
    act(context, 204, null);
  });
  routes.post('/chats/:chat/read', (context) => act(context, 204, null));
  routes.post('/chats/:chat/typing', (context) => act(context, 204, null));
  routes.delete('/chats/:chat/typing', (context) => act(context, 204, null));
  routes.post('/messages/:id/reactions', (context) => act(context, 200, { is_me: true }));
  routes.get('/messages/:id', (context) => {
    const id = String(context.params['id']);
    const own = sent.find((message) => message.id === id);
    const parts = standIn.written.get(id);
    if (!own && !parts) return refuse(context, 404, 2002, 'Message not found');
    context.body = own ? resource(own) : { id, is_from_me: false, parts };
  });
  routes.patch('/messages/:id', (context) => {
    if (!sent.some(({ id }) => id === context.params['id']))
      return refuse(context, 404, 2002, 'Message not found');
    act(context, 200, { id: context.params['id'] });
  });

  routes.post('/capability/check_imessage', (context) => {
    const { address } = z.object({ address: z.string() }).parse(context.request.body);
    context.body = { address, available: !asSms.has(address) };
  });
  routes.get('/phone_numbers', (context) => {
    const found = [...standIn.numbers].map((number) => ({ id: number, phone_number: number }));
    context.body = { phone_numbers: found };
  });
  const subscription = ({ id, url, events, numbers, isActive }: LinqSubscription) => ({
    id,
    target_url: url,
    is_active: isActive,
    subscribed_events: events,
    phone_numbers: numbers,
  });
  routes.get('/webhook-subscriptions', (context) => {
    context.body = { subscriptions: standIn.subscriptions.map(subscription) };
  });
  routes.post('/webhook-subscriptions', (context) => {
    const {
      target_url: url,
      subscribed_events: events,
      phone_numbers: numbers,
    } = NewSubscription.parse(context.request.body);
    if (standIn.subscriptions.some((known) => known.url === url))
      return refuse(context, 409, 2015, 'A subscription with this target_url exists');
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const added = { id: randomUUID(), url, secret, events, numbers, isActive: true };
    standIn.subscriptions.push(added);
    context.status = 201;
    context.body = { ...subscription(added), signing_secret: secret };
  });
  routes.put('/webhook-subscriptions/:id', (context) => {
    const known = standIn.subscriptions.find(({ id }) => id === context.params['id']);
    if (!known) return refuse(context, 404, 2002, 'Subscription not found');
    const asked = ChangedSubscription.parse(context.request.body);
    known.url = asked.target_url ?? known.url;
    known.events = asked.subscribed_events ?? known.events;
    known.numbers = asked.phone_numbers ?? known.numbers;
    known.isActive = asked.is_active ?? known.isActive;
    context.body = subscription(known);
  });

  const app = new Koa();
  app.use(
    refuseInvalid((context, error) => {
      refuse(context, 400, 1003, `Invalid request body: ${error.issues[0]?.path.join('.')}`);
    }, stopping.signal),
  );
  app.use(koaBody());
  app.use(routes.routes());
  const server = await serve(app);
  standIn.url = server.url;
  return standIn;
}

const partsOf = ({ text, media }: LinqMessage): object[] => [
  ...(text === '' ? [] : [{ type: 'text', value: text }]),
  ...media.map((url) => ({ type: 'media', id: url, url, filename: 'file', mime_type: 'image/png' })),
];

function refuse(context: Context, status: number, code: number, message: string): void {
  context.status = status;
  context.body = {
    success: false,
    error: { status, code, message, ...(status === 429 && { retry_after: 7 }) },
    trace_id: randomBytes(16).toString('hex'),
  };
}
