import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { smsSegments } from '#domain/messages/sms-segments.ts';
import { createReports, refuseInvalid, serve } from './stand-in-server.ts';

/** How the next messages to a recipient are treated. */
export type TelnyxFault =
  | { kind: 'error'; status: number; code: string; title: string; pointer?: string }
  /** The message is accepted, but the response is lost, late, or a gateway error. */
  | { kind: 'response_lost' }
  | { kind: 'response_late' }
  | { kind: 'gateway_error' }
  /** The message is accepted, and the error reported afterwards. */
  | { kind: 'error_later'; code: string; title: string };

export interface TelnyxMessage {
  id: string;
  from: string;
  to: string;
  text: string;
  mediaUrls: string[];
  webhookUrl: string;
  status: string;
  errors: { code: string; title: string; detail: string }[];
  createdAt: Date;
}

export interface TelnyxStandIn {
  url: string;
  /** Of the account, in base64, as the portal shows it. */
  publicKey: string;
  /** All accepted messages, in order. */
  sent: readonly TelnyxMessage[];
  /** The numbers of the account, with the messaging profile of each. */
  numbers: Map<string, string | null>;
  /** The webhook URLs of the messaging profiles. */
  profiles: Map<string, string>;
  disabledProfiles: Set<string>;
  /** The largest page of a list, whatever was asked for. */
  maxPageSize: number;
  fault(to: string, fault: TelnyxFault | null): void;
  /** Posts an event to a webhook. @returns the response. */
  report(url: string, type: string, payload: object): Promise<Response>;
  /** Posts a message to the number of a profile. */
  receive(
    webhook: string,
    message: { from: string; to: string; text: string } & Record<string, unknown>,
  ): Promise<Response>;
  /** A call, which the caller ends: each of its steps is reported by the application of the number. */
  call(webhook: string, call: { from: string; to: string; isAnswered: boolean }): Promise<void>;
  /** Signs a body as Telnyx does. */
  sign(body: string, at?: Date): Record<string, string>;
  stop(): Promise<void>;
}

const SendBody = z.object({
  from: z.string().optional(),
  to: z.string().optional(),
  text: z.string().optional(),
  media_urls: z.array(z.string()).optional(),
  webhook_url: z.string().optional(),
  use_profile_webhooks: z.boolean().optional(),
});

const LATE_MS = 3_000;
const MAX_PARTS = 10;
const MAX_URL = 2000;
const MAX_FILES = 10;
const isNumber = (text: string): boolean => /^\+\d{8,15}$/.test(text);
const isUrl = (text: string): boolean => /^https?:\/\//.test(text) && text.length <= MAX_URL;

/** Simulates the Messaging API v2 of Telnyx and its webhooks of calls, written from its documentation and its public client. */
export async function startTelnyx(apiKey: string): Promise<TelnyxStandIn> {
  const keys = generateKeyPairSync('ed25519');
  const sent: TelnyxMessage[] = [];
  const faults = new Map<string, TelnyxFault>();
  const stopping = new AbortController();
  const reports = createReports();

  function signBody(body: string, at = new Date()): Record<string, string> {
    const timestamp = String(Math.floor(at.getTime() / 1000));
    const signature = sign(null, Buffer.from(`${timestamp}|${body}`), keys.privateKey).toString('base64');
    return {
      'content-type': 'application/json',
      'telnyx-signature-ed25519': signature,
      'telnyx-timestamp': timestamp,
    };
  }

  const report: TelnyxStandIn['report'] = async (url, type, payload) => {
    const occurredAt = new Date().toISOString();
    const data = {
      record_type: 'event',
      id: randomUUID(),
      event_type: type,
      occurred_at: occurredAt,
      payload,
    };
    const body = JSON.stringify({ data, meta: { attempt: 1, delivered_to: url } });
    return fetch(url, { method: 'POST', headers: signBody(body), body });
  };

  async function deliver(message: TelnyxMessage, fault: TelnyxFault | undefined): Promise<void> {
    message.status = 'sent';
    await report(message.webhookUrl, 'message.sent', resource(message));
    if (fault?.kind === 'error_later') {
      message.status = 'delivery_failed';
      message.errors = [{ code: fault.code, title: fault.title, detail: fault.title }];
    } else message.status = 'delivered';
    await report(message.webhookUrl, 'message.finalized', resource(message));
  }

  const standIn: TelnyxStandIn = {
    url: '',
    publicKey: Buffer.from(keys.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64'),
    sent,
    numbers: new Map([['+14155550111', 'profile-1']]),
    profiles: new Map([['profile-1', '']]),
    disabledProfiles: new Set(),
    maxPageSize: 50,
    fault: (to, fault) => void (fault === null ? faults.delete(to) : faults.set(to, fault)),
    report,
    receive: (webhook, { from, to, text, ...more }) =>
      report(webhook, 'message.received', {
        id: randomUUID(),
        record_type: 'message',
        direction: 'inbound',
        type: 'SMS',
        from: { phone_number: from, carrier: 'T-Mobile', line_type: 'Wireless' },
        to: [{ phone_number: to, carrier: 'Telnyx', line_type: 'Wireless', status: 'webhook_delivered' }],
        cc: [],
        text,
        media: [],
        autoresponse_type: null,
        received_at: new Date().toISOString(),
        ...more,
      }),
    async call(webhook, { isAnswered, ...parties }) {
      const leg = {
        call_control_id: `v3:${randomUUID()}`,
        call_leg_id: randomUUID(),
        call_session_id: randomUUID(),
        connection_id: '1684641123236054244',
        client_state: null,
        start_time: new Date().toISOString(),
        ...parties,
      };
      await report(webhook, 'call.initiated', { ...leg, direction: 'incoming', state: 'parked' });
      if (isAnswered) await report(webhook, 'call.answered', { ...leg, state: 'answered' });
      await report(webhook, 'call.hangup', {
        ...leg,
        state: 'hangup',
        end_time: new Date().toISOString(),
        hangup_source: 'caller',
        hangup_cause: isAnswered ? 'normal_clearing' : 'originator_cancel',
        sip_hangup_cause: isAnswered ? '200' : '487',
      });
    },
    sign: signBody,
    async stop() {
      stopping.abort();
      await reports.settled();
      await server.stop();
    },
  };

  const routes = new Router({ prefix: '/v2' });
  routes.use(async (context, next) => {
    if (context.get('authorization') === `Bearer ${apiKey}`) return next();
    refuse(context, 401, '10009', 'Authentication failed');
  });

  routes.post('/messages', async (context) => {
    const body = SendBody.parse(context.request.body);
    const { from = '', to = '', text = '', media_urls: mediaUrls = [], webhook_url: webhookUrl = '' } = body;
    const fault = faults.get(to);
    if (fault?.kind === 'error') return refuse(context, fault.status, fault.code, fault.title, fault.pointer);
    if (!isNumber(to)) return refuse(context, 400, '40310', "Invalid 'to' address", '/to');
    if ((standIn.numbers.get(from) ?? null) === null)
      return refuse(context, 400, '40305', "Invalid 'from' address", '/from');
    if (standIn.disabledProfiles.has(standIn.numbers.get(from) ?? ''))
      return refuse(context, 403, '40312', 'Messaging profile is disabled');
    if (text === '' && mediaUrls.length === 0)
      return refuse(context, 422, '40316', 'No content provided for message');
    if (mediaUrls.length === 0 && smsSegments(text).segments > MAX_PARTS)
      return refuse(context, 422, '40302', 'Message too large', '/text');
    if (mediaUrls.length > MAX_FILES || !mediaUrls.every(isUrl))
      return refuse(context, 422, '40317', 'Invalid MMS content', '/media_urls');
    if (webhookUrl !== '' && !isUrl(webhookUrl))
      return refuse(context, 422, '10003', 'Invalid URL', '/webhook_url');
    const message: TelnyxMessage = {
      id: randomUUID(),
      from,
      to,
      text,
      mediaUrls,
      webhookUrl,
      status: 'queued',
      errors: [],
      createdAt: new Date(),
    };
    sent.push(message);
    const created = resource(message);
    if (webhookUrl !== '') {
      reports.add(deliver(message, fault));
    }
    if (fault?.kind === 'response_lost') {
      context.respond = false;
      context.req.socket.destroy();
      return;
    }
    if (fault?.kind === 'gateway_error') {
      context.status = 502;
      context.body = 'Bad gateway';
      return;
    }
    if (fault?.kind === 'response_late') await pause(LATE_MS, undefined, { signal: stopping.signal });
    context.body = { data: created };
  });

  routes.get('/messages/:id', (context) => {
    const message = sent.find(({ id }) => id === context.params['id']);
    if (message) context.body = { data: resource(message) };
    else refuse(context, 404, '10005', 'Resource not found');
  });

  routes.get('/detail_records', (context) => {
    const { query } = context;
    if (query['filter[record_type]'] !== 'messaging')
      return refuse(context, 400, '10004', 'Missing required parameter', undefined);
    const since = Date.parse(String(query['filter[created_at][gte]'] ?? '1970-01-01'));
    const found = sent
      .filter(({ to, createdAt }) => to === query['filter[cld]'] && createdAt.getTime() >= since)
      .toReversed();
    page(
      context,
      found.map((message) => ({
        record_type: 'message_detail_record',
        uuid: message.id,
        direction: 'outbound',
        cli: message.from,
        cld: message.to,
        created_at: message.createdAt.toISOString(),
        delivery_status_webhook_url: message.webhookUrl,
        status: message.status === 'delivered' ? 'delivered' : 'failed',
        message_type: message.mediaUrls.length > 0 ? 'MMS' : 'SMS',
        errors: message.errors.map(({ code }) => code),
      })),
    );
  });

  routes.get('/phone_numbers/messaging', (context) => {
    const { 'filter[phone_number]': number, 'filter[messaging_profile_id]': profile } = context.query;
    const found = [...standIn.numbers].filter(
      ([owned, itsProfile]) =>
        (number === undefined || owned === number) && (profile === undefined || itsProfile === profile),
    );
    page(
      context,
      found.map(([owned, itsProfile]) => ({
        record_type: 'messaging_settings',
        id: owned,
        phone_number: owned,
        messaging_profile_id: itsProfile,
      })),
    );
  });

  const profileOf = ([id, webhookUrl]: readonly [string, string]) => ({
    record_type: 'messaging_profile',
    id,
    name: id,
    enabled: !standIn.disabledProfiles.has(id),
    webhook_url: webhookUrl,
    webhook_api_version: '2',
  });
  routes.get('/messaging_profiles', (context) => page(context, [...standIn.profiles].map(profileOf)));
  routes.get('/messaging_profiles/:id', (context) => {
    const found = [...standIn.profiles].find(([id]) => id === context.params['id']);
    if (found) context.body = { data: profileOf(found) };
    else refuse(context, 404, '10005', 'Resource not found');
  });

  function page(context: Context, all: readonly object[]): void {
    const number = Number(context.query['page[number]'] ?? 1);
    const size = Math.min(Number(context.query['page[size]'] ?? 20), standIn.maxPageSize);
    context.body = {
      data: all.slice((number - 1) * size, number * size),
      meta: {
        page_number: number,
        page_size: size,
        total_pages: Math.ceil(all.length / size),
        total_results: all.length,
      },
    };
  }

  const app = new Koa();
  app.use(
    refuseInvalid((context) => {
      refuse(context, 400, '10015', 'Bad request');
    }, stopping.signal),
  );
  app.use(koaBody());
  app.use(routes.routes());
  const server = await serve(app);
  standIn.url = server.url;
  return standIn;
}

const resource = (message: TelnyxMessage) => ({
  id: message.id,
  record_type: 'message',
  direction: 'outbound',
  type: message.mediaUrls.length > 0 ? 'MMS' : 'SMS',
  from: { phone_number: message.from, carrier: 'Telnyx', line_type: 'VoIP' },
  to: [{ phone_number: message.to, status: message.status, carrier: 'T-Mobile', line_type: 'Wireless' }],
  cc: [],
  text: message.text,
  media: message.mediaUrls.map((url) => ({ url, content_type: null })),
  webhook_url: message.webhookUrl,
  errors: message.errors,
  parts: 1,
  received_at: message.createdAt.toISOString(),
});

function refuse(context: Context, status: number, code: string, title: string, pointer?: string): void {
  context.status = status;
  const source = pointer === undefined ? {} : { source: { pointer } };
  context.body = { errors: [{ code, title, detail: title, ...source }] };
}
