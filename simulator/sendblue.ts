import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import { z } from 'zod';
import { createReports, refuseInvalid, serve } from './stand-in-server.ts';

/** How the next messages to a recipient are treated. */
export type SendblueFault =
  | { kind: 'error'; status: number; code: number | null; message: string }
  /** The message is accepted, but the response is lost or late. */
  | { kind: 'response_lost' }
  | { kind: 'response_late' }
  /** The message is accepted, and the error reported afterwards. */
  | { kind: 'error_later'; code: number; message: string }
  /** The second request of a message with several files is refused. */
  | { kind: 'file_refused' };

export interface SendblueMessage {
  handle: string;
  number: string;
  fromNumber: string;
  content: string;
  mediaUrl: string;
  sendStyle: string;
  replyTo: string | null;
  statusCallback: string;
  status: string;
  errorCode: number | null;
  errorMessage: string | null;
  createdAt: Date;
}

/** A reaction, a read receipt, or whether somebody types. */
export type SendblueAction =
  | { kind: 'reaction'; handle: string; reaction: string }
  | { kind: 'typing'; number: string; state: string }
  | { kind: 'read'; number: string };

interface SendblueWebhook {
  url: string;
  secret: string | null;
  numbers: string[];
}

export interface SendblueStandIn {
  url: string;
  /** All accepted messages, in order. */
  sent: readonly SendblueMessage[];
  actions: readonly SendblueAction[];
  /** The numbers of the account, with their states. */
  lines: Map<string, string>;
  /** The webhooks for messages of contacts. */
  receive: SendblueWebhook[];
  /** The webhooks for messages of the account. */
  outbound: SendblueWebhook[];
  /** The webhooks for contacts who type. */
  typing_indicator: SendblueWebhook[];
  /** The largest page of a list, whatever was asked for. */
  maxPageSize: number;
  fault(number: string, fault: SendblueFault | null): void;
  /** Numbers without iMessage get an SMS. */
  withoutIMessage(number: string): void;
  /** Reports that a contact types, or no longer does. @returns the statuses of the responses. */
  startTyping(typing: { from: string; to: string; isTyping: boolean }): Promise<number[]>;
  /** Posts a message of a contact to the webhooks of a number. @returns the statuses of the responses. */
  write(message: { from: string; to: string; content: string } & Record<string, unknown>): Promise<number[]>;
  /** Sends a message that somebody has typed in the dashboard. */
  type(message: { from: string; to: string; content: string }): Promise<void>;
  stop(): Promise<void>;
}

const STYLES = [
  'celebration',
  'shooting_star',
  'fireworks',
  'lasers',
  'love',
  'confetti',
  'balloons',
  'spotlight',
  'echo',
  'invisible',
  'gentle',
  'loud',
  'slam',
] as const;
const Phone = z.string().regex(/^\+\d{8,15}$/);
const SendBody = z.object({
  number: Phone,
  from_number: z.string(),
  content: z.string().default(''),
  media_url: z.url().optional(),
  send_style: z.enum(STYLES).optional(),
  status_callback: z.url({ protocol: /^https?$/ }).optional(),
  reply_to: z.object({ message_handle: z.string() }).optional(),
});
const Typing = z.object({
  number: Phone,
  from_number: z.string(),
  state: z.enum(['start', 'stop']).default('start'),
});
const Reaction = z.object({
  from_number: z.string(),
  message_handle: z.string().min(1),
  reaction: z.enum(['love', 'like', 'dislike', 'laugh', 'emphasize', 'question']),
});
const WebhookType = z.enum(['receive', 'outbound', 'typing_indicator']);
const NewWebhooks = z.object({
  type: WebhookType,
  webhooks: z.array(
    z.object({
      url: z.url(),
      secret: z.string().optional(),
      sendblue_numbers: z.array(Phone).optional(),
    }),
  ),
});
const GoneWebhooks = z.object({ type: WebhookType, webhooks: z.array(z.string()) });
const LATE_MS = 3_000;

const newMessage = (body: z.input<typeof SendBody>): SendblueMessage => ({
  handle: randomUUID().toUpperCase(),
  number: body.number,
  fromNumber: body.from_number,
  content: body.content ?? '',
  mediaUrl: body.media_url ?? '',
  sendStyle: body.send_style ?? '',
  replyTo: body.reply_to?.message_handle ?? null,
  statusCallback: body.status_callback ?? '',
  status: 'QUEUED',
  errorCode: null,
  errorMessage: null,
  createdAt: new Date(),
});

const webhooksOf = (webhooks: readonly SendblueWebhook[], number: string): SendblueWebhook[] =>
  webhooks.filter(({ numbers }) => numbers.length === 0 || numbers.includes(number));

/** Simulates Sendblue's API v2, written from its documentation and its public client. */
export async function startSendblue(keys: { id: string; secret: string }): Promise<SendblueStandIn> {
  const sent: SendblueMessage[] = [];
  const actions: SendblueAction[] = [];
  const faults = new Map<string, SendblueFault>();
  const asSms = new Set<string>();
  const stopping = new AbortController();
  const reports = createReports();

  const post = (url: string, body: object, secret: string | null = null): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(secret !== null && { 'sb-signing-secret': secret }),
      },
      body: JSON.stringify(body),
    });

  async function deliver(message: SendblueMessage, fault: SendblueFault | undefined): Promise<void> {
    const steps = fault?.kind === 'error_later' ? ['SENT', 'ERROR'] : ['SENT', 'DELIVERED'];
    for (const status of steps) {
      const error = status === 'ERROR' && fault?.kind === 'error_later' ? fault : null;
      Object.assign(message, {
        status,
        errorCode: error?.code ?? null,
        errorMessage: error?.message ?? null,
      });
      if (message.statusCallback !== '') await post(message.statusCallback, resource(message));
      for (const { url, secret } of webhooksOf(standIn.outbound, message.fromNumber))
        await post(url, resource(message), secret);
    }
  }

  const resource = (message: SendblueMessage) => ({
    accountEmail: 'account@sendblue.example',
    content: message.content,
    is_outbound: true,
    status: message.status,
    error_code: message.errorCode,
    error_message: message.errorMessage,
    message_handle: message.handle,
    date_sent: message.createdAt.toISOString(),
    date_created: message.createdAt.toISOString(),
    date_updated: new Date().toISOString(),
    from_number: message.fromNumber,
    number: message.number,
    to_number: message.number,
    sendblue_number: message.fromNumber,
    media_url: message.mediaUrl,
    message_type: 'message',
    group_id: '',
    participants: [],
    send_style: message.sendStyle,
    service: asSms.has(message.number) ? 'SMS' : 'iMessage',
    was_downgraded: asSms.has(message.number),
    opted_out: false,
    plan: 'dedicated',
  });

  const standIn: SendblueStandIn = {
    url: '',
    sent,
    actions,
    lines: new Map([['+14155550111', 'ONLINE']]),
    receive: [],
    outbound: [],
    typing_indicator: [],
    maxPageSize: 100,
    fault: (number, fault) => void (fault === null ? faults.delete(number) : faults.set(number, fault)),
    withoutIMessage: (number) => void asSms.add(number),
    async write({ from, to, content, ...more }) {
      const message = {
        accountEmail: 'account@sendblue.example',
        content,
        is_outbound: false,
        status: 'RECEIVED',
        error_code: null,
        error_message: null,
        message_handle: randomUUID().toUpperCase(),
        date_sent: new Date().toISOString(),
        from_number: from,
        number: from,
        to_number: to,
        sendblue_number: to,
        media_url: '',
        message_type: 'message',
        group_id: '',
        participants: [from, to],
        service: 'iMessage',
        opted_out: false,
        ...more,
      };
      const responses = webhooksOf(standIn.receive, to).map(
        async ({ url, secret }) => (await post(url, message, secret)).status,
      );
      return Promise.all(responses);
    },
    async startTyping({ from, to, isTyping }) {
      const typing = {
        number: from,
        is_typing: isTyping,
        from_number: to,
        timestamp: new Date().toISOString(),
      };
      const responses = webhooksOf(standIn.typing_indicator, to).map(
        async ({ url, secret }) => (await post(url, typing, secret)).status,
      );
      return Promise.all(responses);
    },
    async type({ from, to, content }) {
      const message = newMessage({ number: to, from_number: from, content });
      sent.push(message);
      await deliver(message, undefined);
    },
    async stop() {
      stopping.abort();
      await reports.settled();
      await server.stop();
    },
  };

  const routes = new Router({ prefix: '/api' });
  routes.use(async (context, next) => {
    const isOwn =
      context.get('sb-api-key-id') === keys.id && context.get('sb-api-secret-key') === keys.secret;
    if (isOwn) return next();
    refuse(context, 401, null, 'Unauthorized');
  });
  const isOurs = (context: Context, number: string): boolean => {
    if (standIn.lines.has(number)) return true;
    refuse(context, 400, null, 'The from_number is not registered');
    return false;
  };

  routes.post('/send-message', async (context) => {
    const body = SendBody.parse(context.request.body);
    const fault = faults.get(body.number);
    if (fault?.kind === 'error') return refuse(context, fault.status, fault.code, fault.message);
    if (!isOurs(context, body.from_number)) return;
    if (body.content === '' && body.media_url === undefined)
      return refuse(context, 400, 4000, 'content or media_url is required');
    const before = sent.filter(({ number }) => number === body.number).length;
    if (fault?.kind === 'file_refused' && before > 0)
      return refuse(context, 400, 4000, 'The file is too large');
    const message = newMessage(body);
    sent.push(message);
    const created = resource(message);
    reports.add(deliver(message, fault));
    if (fault?.kind === 'response_lost') {
      context.respond = false;
      context.req.socket.destroy();
      return;
    }
    if (fault?.kind === 'response_late') await pause(LATE_MS, undefined, { signal: stopping.signal });
    context.status = 202;
    context.body = created;
  });

  routes.get('/v2/messages', (context) => {
    const { to_number: to, created_at_gte: since = '1970-01-01', is_outbound: isOutbound } = context.query;
    const offset = Number(context.query['offset'] ?? 0);
    const limit = Math.min(Number(context.query['limit'] ?? 50), standIn.maxPageSize);
    const found = sent
      .filter(({ number, createdAt }) => number === to && createdAt.getTime() >= Date.parse(String(since)))
      .toReversed();
    const data = isOutbound === 'true' ? found.slice(offset, offset + limit).map(resource) : [];
    const hasMore = offset + limit < found.length;
    context.body = { status: 'OK', data, pagination: { hasMore, limit, offset, total: found.length } };
  });

  routes.get('/evaluate-service', (context) => {
    const number = String(context.query['number']);
    context.body = { number, service: asSms.has(number) ? 'SMS' : 'iMessage' };
  });

  routes.post('/send-typing-indicator', (context) => {
    const { number, from_number: from, state } = Typing.parse(context.request.body);
    if (!isOurs(context, from)) return;
    actions.push({ kind: 'typing', number, state });
    context.body = { number, status: 'SENT', error_message: null };
  });
  routes.post('/mark-read', (context) => {
    const { number, from_number: from } = Typing.parse(context.request.body);
    if (!isOurs(context, from)) return;
    actions.push({ kind: 'read', number });
    context.body = { status: 'OK' };
  });
  routes.post('/send-reaction', (context) => {
    const { from_number: from, message_handle: handle, reaction } = Reaction.parse(context.request.body);
    if (!isOurs(context, from)) return;
    actions.push({ kind: 'reaction', handle, reaction });
    context.body = { status: 'OK', message: 'Reaction request sent', message_handle: handle, reaction };
  });

  routes.get('/v2/lines/state', (context) => {
    const data = [...standIn.lines].map(([number, status]) => ({
      assignment: 'assigned',
      sendblue_number: number,
      status,
      worker_id: `worker ${number}`,
    }));
    context.body = { status: 'OK', data, snapshot_at: new Date().toISOString() };
  });
  routes.get('/account/webhooks', (context) => {
    const shown = (webhooks: SendblueWebhook[]) =>
      webhooks.map(({ url, numbers }) => ({ url, sendblue_numbers: numbers }));
    const webhooks = {
      receive: shown(standIn.receive),
      outbound: shown(standIn.outbound),
      typing_indicator: shown(standIn.typing_indicator),
    };
    context.body = { status: 'OK', webhooks };
  });
  routes.post('/account/webhooks', (context) => {
    const { type, webhooks } = NewWebhooks.parse(context.request.body);
    for (const { url, secret = null, sendblue_numbers: numbers = [] } of webhooks)
      standIn[type].push({ url, secret, numbers });
    context.body = { status: 'OK', message: 'Webhooks added' };
  });
  routes.delete('/account/webhooks', (context) => {
    const { type, webhooks } = GoneWebhooks.parse(context.request.body);
    standIn[type] = standIn[type].filter(({ url }) => !webhooks.includes(url));
    context.body = { status: 'OK', message: 'Webhooks deleted' };
  });

  const app = new Koa();
  app.use(
    refuseInvalid((context, error) => {
      refuse(context, 400, 4000, `Invalid ${error.issues[0]?.path.join('.')}`);
    }, stopping.signal),
  );
  app.use(koaBody({ parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.DELETE] }));
  app.use(routes.routes());
  const server = await serve(app);
  standIn.url = server.url;
  return standIn;
}

function refuse(context: Context, status: number, code: number | null, message: string): void {
  context.status = status;
  context.body = {
    status: 'ERROR',
    ...(code !== null && { error_code: code }),
    error_message: message,
    message,
  };
}
