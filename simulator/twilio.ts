import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { createReports, refuseInvalid, serve } from './stand-in-server.ts';
import { type PlacedCall, type TwilioCall, twilioCalls } from './twilio-calls.ts';
import { refuse, type TwilioNumbers, twilioNumbers } from './twilio-numbers.ts';

/** How the next messages to a recipient are treated. */
export type TwilioFault =
  | { kind: 'error'; status: number; code: number | null }
  /** The message is accepted, but the response is lost, late, or a gateway error. */
  | { kind: 'response_lost' }
  /** So is the callback that reports its failure. */
  | { kind: 'failure_lost'; code: number }
  | { kind: 'response_late' }
  | { kind: 'gateway_error' }
  /** The message is accepted, and the error reported afterwards. */
  | { kind: 'error_later'; code: number };

export interface TwilioMessage {
  sid: string;
  to: string;
  from: string | null;
  messagingServiceSid: string | null;
  body: string;
  media: string[];
  statusCallback: string | null;
  createdAt: Date;
  /** As last reported. */
  status: string;
  errorCode: number | null;
}

export interface TwilioStandIn extends TwilioNumbers {
  url: string;
  /** All accepted messages, in order. */
  sent: readonly TwilioMessage[];
  /** The largest page of a list, whatever was asked for. */
  maxPageSize: number;
  /** Whether the account is suspended. */
  suspended: boolean;
  /** How far its clock is behind, in milliseconds. */
  clockBehindMs: number;
  /** False: reports each accepted message as sent and then delivered. True: the test reports statuses. */
  quiet: boolean;
  fault(to: string, fault: TwilioFault | null): void;
  /** Posts to a message's StatusCallback. @returns the status of the response. */
  reportStatus(message: TwilioMessage, status: string, more?: Record<string, string>): Promise<number>;
  /** Posts an inbound message to a number's webhook. */
  receive(webhook: string, fields: Record<string, string>): Promise<Response>;
  /** An inbound or outbound call. The test posts its callbacks. */
  call(call: PlacedCall): TwilioCall;
  /** Signs a form as Twilio does. */
  sign(url: string, fields: Record<string, string>): { headers: Record<string, string>; body: string };
  stop(): Promise<void>;
}

const SendForm = z.object({
  To: z.string().default(''),
  From: z.string().optional(),
  MessagingServiceSid: z.string().optional(),
  Body: z.string().default(''),
  MediaUrl: z.union([z.string(), z.array(z.string())]).optional(),
  StatusCallback: z.url({ protocol: /^https?$/ }).optional(),
});

const LATE_MS = 3_000;
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

/** Simulates Twilio Programmable Messaging and the callbacks of Voice, API 2010-04-01, written from their documentation. */
export async function startTwilio(account: { sid: string; authToken: string }): Promise<TwilioStandIn> {
  const sent: TwilioMessage[] = [];
  const faults = new Map<string, TwilioFault>();
  const stopping = new AbortController();
  const reports = createReports();

  function sign(url: string, fields: Record<string, string>) {
    const pairs = Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const signed = pairs.reduce((text, [name, value]) => text + name + value, url);
    return {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': createHmac('sha1', account.authToken).update(signed).digest('base64'),
      },
      body: new URLSearchParams(fields).toString(),
    };
  }

  const post = (url: string, fields: Record<string, string>): Promise<Response> =>
    fetch(url, { method: 'POST', ...sign(url, fields) });

  const calls = twilioCalls({ sid: account.sid, url: () => standIn.url }, post);

  async function reportStatus(
    message: TwilioMessage,
    status: string,
    more: Record<string, string> = {},
  ): Promise<number> {
    const { ErrorCode: code } = more;
    Object.assign(message, { status, errorCode: code === undefined ? null : Number(code) });
    if (message.statusCallback === null) return 0;
    const response = await post(message.statusCallback, {
      MessageSid: message.sid,
      SmsSid: message.sid,
      MessageStatus: status,
      SmsStatus: status,
      ...channelOf(message),
      AccountSid: account.sid,
      ApiVersion: '2010-04-01',
      ...more,
    });
    return response.status;
  }

  const { state, routes: numberRoutes, messagingRoutes } = twilioNumbers(account.sid);

  const standIn: TwilioStandIn = Object.assign(state, {
    url: '',
    sent,
    maxPageSize: 1000,
    suspended: false,
    clockBehindMs: 0,
    quiet: false,
    fault: (to, fault) => void (fault === null ? faults.delete(to) : faults.set(to, fault)),
    reportStatus,
    call: calls.place,
    sign,
    receive: (webhook, fields) =>
      post(webhook, {
        AccountSid: account.sid,
        NumMedia: '0',
        NumSegments: '1',
        ApiVersion: '2010-04-01',
        ...fields,
      }),
    async stop() {
      stopping.abort();
      await reports.settled();
      await server.stop();
    },
  } satisfies Omit<TwilioStandIn, keyof TwilioNumbers>);

  const routes = new Router({ prefix: '/2010-04-01/Accounts/:account' });
  const credentials = `Basic ${Buffer.from(`${account.sid}:${account.authToken}`).toString('base64')}`;
  routes.use(async (context, next) => {
    if (context.get('authorization') === credentials && accountOf(context) === account.sid) return next();
    refuse(context, 401, 20003, 'Authenticate');
  });

  routes.post('/Messages.json', async (context) => {
    const form = SendForm.parse(context.request.body);
    const fault = faults.get(form.To);
    if (fault?.kind === 'error') return refuse(context, fault.status, fault.code, 'The message was refused');
    if (!/^\+\d{8,15}$/.test(form.To)) return refuse(context, 400, 21211, `Invalid 'To': ${form.To}`);
    if (form.From === undefined && form.MessagingServiceSid === undefined)
      return refuse(context, 400, 21603, "A 'From' is required");
    if (form.Body.length > 1600) return refuse(context, 400, 21617, 'The body exceeds 1600 characters');
    if (form.Body === '' && form.MediaUrl === undefined)
      return refuse(context, 400, 21602, 'A body is required');
    const message: TwilioMessage = {
      sid: `SM${randomBytes(16).toString('hex')}`,
      to: form.To,
      from: form.From ?? null,
      messagingServiceSid: form.MessagingServiceSid ?? null,
      body: isSmart(form.MessagingServiceSid) ? smartlyEncoded(form.Body) : form.Body,
      media: [form.MediaUrl ?? []].flat(),
      statusCallback: form.StatusCallback ?? null,
      createdAt: new Date(Date.now() - standIn.clockBehindMs),
      status: form.MessagingServiceSid === undefined ? 'queued' : 'accepted',
      errorCode: null,
    };
    sent.push(message);
    const created = resource(message);
    if (fault?.kind === 'failure_lost')
      Object.assign(message, { status: 'undelivered', errorCode: fault.code });
    else if (!standIn.quiet) {
      const ending: [status: string, more?: Record<string, string>] =
        fault?.kind === 'error_later' ? ['undelivered', { ErrorCode: String(fault.code) }] : ['delivered'];
      const reported = reportStatus(message, 'sent').then(() => reportStatus(message, ...ending));
      reports.add(reported);
    }
    if (fault?.kind === 'response_lost' || fault?.kind === 'failure_lost') {
      context.respond = false;
      context.req.socket.destroy();
      return;
    }
    if (fault?.kind === 'gateway_error') return refuse(context, 502, null, 'Bad gateway');
    if (fault?.kind === 'response_late') await pause(LATE_MS, undefined, { signal: stopping.signal });
    context.status = 201;
    context.body = created;
  });

  routes.get('/Messages.json', (context) => {
    const query = z
      .object({
        To: z.string().optional(),
        From: z.string().optional(),
        PageSize: z.coerce.number().max(1000).default(50),
        Page: z.coerce.number().default(0),
      })
      .parse(context.query);
    const found = sent
      .map(resource)
      .filter(
        ({ to, from }) =>
          (query.To === undefined || to === query.To) && (query.From === undefined || from === query.From),
      );
    const size = Math.min(query.PageSize, standIn.maxPageSize);
    const start = query.Page * size;
    const messages = found.toReversed().slice(start, start + size);
    const following = new URLSearchParams(context.querystring);
    following.set('Page', String(query.Page + 1));
    following.set('PageToken', `PASM${query.Page + 1}`);
    const more = start + size < found.length ? `${context.path}?${following.toString()}` : null;
    context.body = { messages, page: query.Page, page_size: size, next_page_uri: more };
  });

  routes.get('/Messages/:sid/Media/:media', (context) => {
    context.redirect(`${standIn.url}/store/${context.params['media']}`);
  });
  routes.use(calls.routes.routes());
  routes.use(numberRoutes.routes());
  messagingRoutes.use(async (context, next) => {
    if (context.get('authorization') === credentials) return next();
    refuse(context, 401, 20003, 'Authenticate');
  });

  const channelOf = (message: TwilioMessage): Record<string, string> => {
    const agent = rcsAgentOf(message);
    return agent === undefined
      ? { To: message.to, From: message.from ?? '' }
      : { To: `rcs:${message.to}`, From: `rcs:${agent}`, ChannelPrefix: 'rcs' };
  };

  const isSmart = (service: string | undefined): boolean =>
    service !== undefined && (standIn.services.get(service)?.smartEncoding ?? standIn.services.has(service));

  const rcsAgentOf = ({ messagingServiceSid: service }: TwilioMessage): string | undefined =>
    service === null ? undefined : standIn.services.get(service)?.rcsAgent;

  const resource = (message: TwilioMessage) => ({
    sid: message.sid,
    account_sid: account.sid,
    api_version: '2010-04-01',
    status: message.status,
    direction: 'outbound-api',
    ...(rcsAgentOf(message) === undefined
      ? { to: message.to, from: message.from }
      : { to: `rcs:${message.to}`, from: `rcs:${rcsAgentOf(message)}` }),
    messaging_service_sid: message.messagingServiceSid,
    body: message.body,
    num_segments: '1',
    num_media: String(message.media.length),
    error_code: message.errorCode,
    error_message: null,
    date_created: message.createdAt.toUTCString().replace('GMT', '+0000'),
    date_sent: null,
    price: null,
  });

  const open = new Router();
  open.get('/2010-04-01/Accounts/:account.json', (context) => {
    if (context.get('authorization') !== credentials) return refuse(context, 401, 20003, 'Authenticate');
    context.body = { sid: account.sid, status: standIn.suspended ? 'suspended' : 'active' };
  });
  open.get('/store/:media', (context) => {
    // Object stores reject a signed URL combined with an Authorization header.
    if (context.get('authorization') !== '')
      return refuse(context, 400, null, 'Only one way to authenticate');
    context.type = 'image/png';
    context.body = PNG;
  });

  const app = new Koa();
  app.use(
    refuseInvalid((context) => {
      refuse(context, 400, 20001, 'Invalid parameter');
    }, stopping.signal),
  );
  app.use(koaBody());
  app.use(open.routes());
  app.use(routes.routes());
  app.use(messagingRoutes.routes());
  const server = await serve(app);
  standIn.url = server.url;
  return standIn;
}

/** Twilio lists others: www.twilio.com/docs/messaging/services/smart-encoding-char-list. */
const SMART: Record<string, string> = {
  '\u2018': "'",
  '\u2019': "'",
  '\u201c': '"',
  '\u201d': '"',
  '\u2013': '-',
  '\u2014': '-',
  '\u2026': '...',
  '\u00a0': ' ',
};
const smartlyEncoded = (text: string): string =>
  Array.from(text, (character) => SMART[character] ?? character).join('');

const accountOf = (context: Context): string =>
  String((context['params'] as Record<string, string>)['account']);
