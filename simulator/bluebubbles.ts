import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';

/** Known faults of the server, by recipient. */
export type BlueBubblesFault =
  /** Refused with this status and not sent. */
  | { kind: 'refused'; status: number }
  /** 500 although it was sent, with or without the message in the response. */
  | { kind: 'error_though_sent'; code: number | null }
  /** 500, with the message in the database as not delivered. */
  | { kind: 'not_delivered'; code: number }
  /** 500 before the message was passed to Messages. */
  | { kind: 'error_unsent'; times: number }
  | { kind: 'response_lost' }
  | { kind: 'response_late' };

export interface SentMessage {
  guid: string;
  tempGuid: string | null;
  to: string;
  service: string;
  text: string;
  file: { name: string; content: string; isAudioMessage: boolean } | null;
  error: number;
  /** Whether it was actually sent. */
  left: boolean;
  chat: string;
  createdAt: number;
}

interface SendRequest extends Pick<SentMessage, 'to' | 'service' | 'text' | 'file'> {
  tempGuid: string | undefined;
}

export interface BlueBubblesStandIn {
  url: string;
  /** Outbound messages in its database, in order. */
  messages: readonly SentMessage[];
  webhooks: readonly { url: string; events: string[] }[];
  /** How many times each webhook call is made. */
  repeats: number;
  /** The service in the GUIDs of conversations; newer systems use `any`. */
  chatService: string | null;
  /** What the server says about the Mac. */
  info: { detected_imessage: string; private_api: boolean; helper_connected: boolean };
  fault(to: string, fault: BlueBubblesFault): void;
  /** Not on iMessage: the server responds 200, but sends nothing. */
  withoutIMessage(to: string): void;
  /** The number of false negatives before a positive availability check. */
  flapping(to: string, denials: number): void;
  /** Recipients without an existing conversation. */
  stranger(to: string): void;
  /** Calls all webhooks and waits for their responses. */
  callWebhooks(type: string, data: unknown): Promise<void>;
  stop(): Promise<void>;
}

const LATE_MS = 3000;
const TextRequest = z.object({
  chatGuid: z.string(),
  tempGuid: z.string().optional(),
  message: z.string().min(1),
  method: z.string(),
});
const NewChat = z.object({
  addresses: z.array(z.string()).min(1),
  message: z.string(),
  method: z.string(),
  service: z.string(),
  tempGuid: z.string().optional(),
});

/**
 * Simulates a BlueBubbles server 1.9 over HTTP, with its known faults.
 * @param hasIMessage whether a recipient is on iMessage, unless `withoutIMessage` says that it is not.
 */
export async function startBlueBubbles(
  password: string,
  hasIMessage: (to: string) => boolean = () => true,
): Promise<BlueBubblesStandIn> {
  const messages: SentMessage[] = [];
  const webhooks: { id: number; url: string; events: string[] }[] = [];
  const faults = new Map<string, BlueBubblesFault>();
  const without = new Set<string>();
  const denials = new Map<string, number>();
  const strangers = new Set<string>();
  const isReachable = (to: string): boolean => hasIMessage(to) && !without.has(to);
  const inFlight = new Set<string>();
  const stopping = new AbortController();
  const reports = new Set<Promise<void>>();

  const standIn: BlueBubblesStandIn = {
    url: '',
    messages,
    webhooks,
    repeats: 1,
    chatService: null,
    info: { detected_imessage: 'dana@line.example', private_api: false, helper_connected: false },
    fault: (to, fault) => void faults.set(to, fault),
    withoutIMessage: (to) => void without.add(to),
    flapping: (to, times) => void denials.set(to, times),
    stranger: (to) => void strangers.add(to),
    async callWebhooks(type, data) {
      const calls = webhooks.flatMap(({ url }) => Array.from({ length: standIn.repeats }, () => url));
      const post = (url: string): Promise<unknown> =>
        fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ type, data }),
        }).catch(() => {});
      // Like the real server: fire and forget, without retries.
      await Promise.all(calls.map(post));
    },
    async stop() {
      stopping.abort();
      await Promise.allSettled(reports);
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };

  const serialized = ({ guid, to, service, text, error, left, chat, createdAt }: SentMessage) => ({
    guid,
    text,
    error,
    isFromMe: true,
    itemType: 0,
    handle: { address: to, service, country: 'us' },
    chats: [{ guid: chat }],
    attachments: [],
    dateCreated: createdAt,
    dateDelivered: left && service !== 'SMS' ? createdAt + 1 : null,
    isDelivered: left && service !== 'SMS' && error === 0,
    dateRead: null,
  });

  function report(message: SentMessage): void {
    const data = { ...serialized(message), ...(message.tempGuid && { tempGuid: message.tempGuid }) };
    const reported = standIn
      .callWebhooks('new-message', { ...data, dateDelivered: null })
      .then(() => standIn.callWebhooks('updated-message', data))
      .finally(() => reports.delete(reported));
    reports.add(reported);
  }

  /** Responds with the fault of a recipient whose message the server does not take. @returns whether it did. */
  function refuse(context: Context, { to, tempGuid }: SendRequest): boolean {
    const fault = faults.get(to);
    if (tempGuid !== undefined && inFlight.has(tempGuid)) {
      const text = `Message is already queued to be sent! (Temp GUID: ${tempGuid})`;
      fail(context, 400, 'Validation Error', text);
    } else if (fault?.kind === 'refused') {
      fail(context, fault.status, 'Validation Error', 'The message was refused');
    } else if (fault?.kind === 'error_unsent' && fault.times > 0) {
      fault.times -= 1;
      fail(context, 500, 'Server Error', 'Messages did not respond');
    } else return false;
    return true;
  }

  function store({ to, service, text, file, tempGuid }: SendRequest): SentMessage {
    const fault = faults.get(to);
    const hasCode = fault?.kind === 'not_delivered' || fault?.kind === 'error_though_sent';
    const message: SentMessage = {
      guid: randomUUID(),
      tempGuid: tempGuid ?? null,
      to,
      service,
      text,
      file,
      error: (hasCode ? fault.code : null) ?? 0,
      left: fault?.kind !== 'not_delivered' && (service !== 'iMessage' || isReachable(to)),
      chat: `${standIn.chatService ?? service};-;${to}`,
      createdAt: Date.now(),
    };
    messages.push(message);
    strangers.delete(to);
    if (message.left) report(message);
    return message;
  }

  async function delayResponse({ tempGuid }: SendRequest): Promise<void> {
    if (tempGuid !== undefined) inFlight.add(tempGuid);
    await pause(LATE_MS, undefined, { signal: stopping.signal });
    if (tempGuid !== undefined) inFlight.delete(tempGuid);
  }

  /** @param wrap wraps the message in the response's data. */
  async function send(
    context: Context,
    request: SendRequest,
    wrap: (message: object) => object,
  ): Promise<void> {
    if (refuse(context, request)) return;
    const message = store(request);
    const fault = faults.get(request.to)?.kind;
    if (fault === 'response_lost') {
      context.respond = false;
      context.req.socket.destroy();
      return;
    }
    if (fault === 'response_late') await delayResponse(request);
    const data = serialized(message);
    if (fault === 'error_though_sent' || fault === 'not_delivered') {
      const text = 'Failed to send message! See attached message error code.';
      return fail(context, 500, 'iMessage Error', text, message.error === 0 ? null : data);
    }
    const { tempGuid } = request;
    const sent = { ...data, ...(tempGuid !== undefined && { tempGuid }) };
    context.body = { status: 200, message: 'Message sent!', data: wrap(sent) };
  }

  const routes = new Router({ prefix: '/api/v1' });
  routes.use(async (context, next) => {
    const { guid, password: given, token } = context.query;
    if ([guid, given, token].includes(password)) return next();
    fail(context, 401, 'Authentication Error', 'Unauthorized');
  });
  routes.get('/ping', (context) => {
    context.body = { status: 200, message: 'Ping received!', data: 'pong' };
  });
  routes.get('/server/info', (context) => {
    const fixed = { os_version: '15.1', server_version: '1.9.9', proxy_service: 'dynamic-dns' };
    context.body = {
      status: 200,
      message: 'Successfully fetched metadata!',
      data: { ...fixed, ...standIn.info },
    };
  });
  routes.get('/handle/availability/imessage', (context) => {
    const address = String(context.query['address']);
    const left = denials.get(address) ?? 0;
    denials.set(address, left - 1);
    context.body = {
      status: 200,
      message: 'Success',
      data: { available: left <= 0 && isReachable(address) },
    };
  });
  routes.post('/message/text', async (context) => {
    const { chatGuid, message, tempGuid } = TextRequest.parse(context.request.body);
    const { to, service } = partsOf(chatGuid);
    if (strangers.has(to))
      return fail(context, 500, 'iMessage Error', `Chat with GUID ${chatGuid} does not exist!`);
    await send(context, { to, service, text: message, tempGuid, file: null }, (data) => data);
  });
  routes.post('/chat/new', async (context) => {
    const { addresses, message, service, tempGuid } = NewChat.parse(context.request.body);
    const to = addresses[0] ?? '';
    const opened = (data: object): object => ({
      guid: `${service};-;${to}`,
      participants: [{ address: to }],
      messages: [data],
    });
    await send(context, { to, service, text: message, tempGuid, file: null }, opened);
  });
  routes.post('/message/attachment', async (context) => {
    const fields = z
      .object({
        chatGuid: z.string(),
        tempGuid: z.string().optional(),
        name: z.string(),
        isAudioMessage: z.string().optional(),
      })
      .parse(context.request.body);
    const upload = [context.request.files?.['attachment'] ?? []].flat()[0];
    if (!upload || upload.size === 0)
      return fail(context, 400, 'Validation Error', 'Attachment not provided or was empty!');
    const content = await readFile(upload.filepath, 'utf8');
    const file = { name: fields.name, content, isAudioMessage: fields.isAudioMessage === 'true' };
    const { to, service } = partsOf(fields.chatGuid);
    await send(context, { to, service, text: '', tempGuid: fields.tempGuid, file }, (data) => data);
  });
  routes.post('/message/query', (context) => {
    const query = z
      .object({
        after: z.number().default(0),
        before: z.number().default(Infinity),
        limit: z.number().max(1000).default(100),
        offset: z.number().default(0),
        sort: z.enum(['ASC', 'DESC']).default('DESC'),
      })
      .parse(context.request.body);
    const isMeant = ({ createdAt }: SentMessage): boolean =>
      createdAt >= query.after && createdAt <= query.before;
    const found = messages.filter(isMeant).map(serialized);
    const sorted = query.sort === 'DESC' ? found.toReversed() : found;
    context.body = {
      status: 200,
      message: 'Success',
      data: sorted.slice(query.offset, query.offset + query.limit),
    };
  });
  routes.get('/webhook', (context) => {
    context.body = { status: 200, message: 'Success', data: webhooks };
  });
  routes.post('/webhook', (context) => {
    const webhook = z.object({ url: z.url(), events: z.array(z.string()) }).parse(context.request.body);
    webhooks.push({ id: webhooks.length + 1, ...webhook });
    context.body = { status: 200, message: 'Webhook created!', data: webhooks.at(-1) };
  });
  routes.get('/attachment/:guid/download', (context) => {
    context.type = 'image/png';
    context.body = `the file ${context.params['guid']}`;
  });

  const app = new Koa();
  app.use(async (context, next) => {
    try {
      await next();
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (!(error instanceof z.ZodError)) throw error;
      fail(context, 400, 'Validation Error', error.message);
    }
  });
  app.use(koaBody({ multipart: true }));
  app.use(routes.routes());
  const server = createServer(app.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  standIn.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return standIn;
}

function partsOf(chatGuid: string): { to: string; service: string } {
  const [service = '', , to = ''] = chatGuid.split(';');
  return { to, service };
}

function fail(context: Context, status: number, type: string, text: string, data?: object | null): void {
  context.status = status;
  context.body = {
    status,
    message: 'Message Send Error',
    error: { type, message: text },
    ...(data !== undefined && { data }),
  };
}
