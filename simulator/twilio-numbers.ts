import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';

/** A number of the account, and where it reports messages. */
export interface TwilioNumber {
  smsUrl: string;
  sms: boolean;
  /** Default: POST. */
  smsMethod?: string;
  smsApplicationSid?: string;
  friendlyName?: string;
}

/** A messaging service. Smart Encoding replaces characters in texts, and is on by default. */
export interface TwilioService {
  numbers: string[];
  inboundRequestUrl: string | null;
  inboundMethod?: string;
  useInboundWebhookOnNumber: boolean;
  smartEncoding?: boolean;
  /** With an RCS sender, its messages leave by RCS, for which Twilio has other addresses: `rcs:+14155550123`. */
  rcsAgent?: string;
  /** Whether its A2P campaign is registered. Default: true. */
  registered?: boolean;
}

/** A number that can be bought. */
export interface TwilioOffer {
  number: string;
  country: string;
  kind: 'Local' | 'Mobile' | 'TollFree';
}

/** How the next purchases are treated. `response_lost`: the number is bought, and the response is lost. */
export type TwilioPurchaseFault = { kind: 'error'; status: number; code: number } | { kind: 'response_lost' };

export interface TwilioNumbers {
  numbers: Map<string, TwilioNumber>;
  services: Map<string, TwilioService>;
  /** Where TwiML Apps report messages. */
  applications: Map<string, { smsUrl: string; smsMethod?: string }>;
  offers: TwilioOffer[];
  /** The numbers that were bought and released, in order. */
  bought: string[];
  released: string[];
  purchaseFault: TwilioPurchaseFault | null;
}

const PAGE_SIZE = 50;
const LATE_MS = 50;

/** The numbers of an account, number search and purchase, TwiML Apps and messaging services, written from Twilio's documentation. */
export function twilioNumbers(accountSid: string): {
  state: TwilioNumbers;
  /** To be mounted under the account's URL, which requires authentication. */
  routes: Router;
  /** To be mounted at the root of the Messaging API, behind authentication. */
  messagingRoutes: Router;
} {
  const state: TwilioNumbers = {
    numbers: new Map([['+14155550111', { smsUrl: '', sms: true }]]),
    services: new Map(),
    applications: new Map(),
    offers: [],
    bought: [],
    released: [],
    purchaseFault: null,
  };
  const routes = new Router();
  const messagingRoutes = new Router({ prefix: '/v1/Services' });

  const resource = (number: string, fields: TwilioNumber) => ({
    sid: sidOf(number),
    account_sid: accountSid,
    friendly_name: fields.friendlyName ?? number,
    phone_number: number,
    sms_url: fields.smsUrl,
    sms_method: fields.smsMethod ?? 'POST',
    sms_application_sid: fields.smsApplicationSid ?? '',
    capabilities: { voice: true, sms: fields.sms, mms: fields.sms, fax: false },
  });

  routes.get('/IncomingPhoneNumbers.json', (context) => {
    const query = z
      .object({
        PhoneNumber: z.string().optional(),
        FriendlyName: z.string().optional(),
        PageSize: z.coerce.number().max(1000).default(PAGE_SIZE),
      })
      .parse(context.query);
    const found = [...state.numbers].filter(
      ([number, { friendlyName = number }]) =>
        (query.PhoneNumber === undefined || number === query.PhoneNumber) &&
        (query.FriendlyName === undefined || friendlyName === query.FriendlyName),
    );
    context.body = {
      incoming_phone_numbers: found
        .slice(0, query.PageSize)
        .map(([number, fields]) => resource(number, fields)),
      page: 0,
      page_size: query.PageSize,
      next_page_uri: null,
    };
  });

  routes.post('/IncomingPhoneNumbers.json', async (context) => {
    const form = z
      .object({
        PhoneNumber: z.string(),
        FriendlyName: z.string().max(64).optional(),
        SmsUrl: z.url({ protocol: /^https?$/ }).optional(),
        SmsMethod: z.enum(['GET', 'POST']).default('POST'),
      })
      .parse(context.request.body);
    const fault = state.purchaseFault;
    if (fault?.kind === 'error') return refuse(context, fault.status, fault.code, 'The purchase was refused');
    const index = state.offers.findIndex(({ number }) => number === form.PhoneNumber);
    if (index === -1) return refuse(context, 400, 21422, `${form.PhoneNumber} is not available.`);
    state.offers.splice(index, 1);
    const fields: TwilioNumber = {
      smsUrl: form.SmsUrl ?? '',
      smsMethod: form.SmsMethod,
      sms: true,
      ...(form.FriendlyName !== undefined && { friendlyName: form.FriendlyName }),
    };
    state.numbers.set(form.PhoneNumber, fields);
    state.bought.push(form.PhoneNumber);
    if (fault?.kind === 'response_lost') {
      context.respond = false;
      await pause(LATE_MS);
      context.req.socket.destroy();
      return;
    }
    context.status = 201;
    context.body = resource(form.PhoneNumber, fields);
  });

  const numberOf = (sid: string | undefined): [string, TwilioNumber] | undefined =>
    [...state.numbers].find(([number]) => sidOf(number) === sid);

  routes.post('/IncomingPhoneNumbers/:sid.json', (context) => {
    const found = numberOf(context.params['sid']);
    if (!found) return notFound(context);
    const form = z
      .object({ SmsUrl: z.url().optional(), SmsMethod: z.string().optional() })
      .parse(context.request.body);
    const [number, fields] = found;
    if (form.SmsUrl !== undefined) fields.smsUrl = form.SmsUrl;
    if (form.SmsMethod !== undefined) fields.smsMethod = form.SmsMethod;
    context.body = resource(number, fields);
  });

  routes.delete('/IncomingPhoneNumbers/:sid.json', (context) => {
    const found = numberOf(context.params['sid']);
    if (!found) return notFound(context);
    state.numbers.delete(found[0]);
    state.released.push(found[0]);
    context.status = 204;
  });

  routes.get('/AvailablePhoneNumbers/:country/:kind.json', (context) => {
    const { country = '', kind = '' } = context.params;
    const query = z
      .object({
        AreaCode: z.coerce.number().int().optional(),
        Contains: z.string().min(2).optional(),
        PageSize: z.coerce.number().max(1000).default(PAGE_SIZE),
      })
      .parse(context.query);
    const offered = state.offers.filter((offer) => offer.country === country && offer.kind === kind);
    if (!state.offers.some((offer) => offer.country === country)) return notFound(context);
    const found = offered.filter(
      ({ number }) =>
        (query.AreaCode === undefined || number.startsWith(`+1${query.AreaCode}`)) &&
        (query.Contains === undefined || number.includes(query.Contains.replaceAll('*', ''))),
    );
    context.body = {
      available_phone_numbers: found.slice(0, query.PageSize).map(({ number }) => ({
        phone_number: number,
        friendly_name: number,
        iso_country: country,
        address_requirements: 'none',
        beta: false,
        capabilities: { voice: true, SMS: true, MMS: true, fax: false },
      })),
    };
  });

  routes.get('/Applications/:sid.json', (context) => {
    const sid = context.params['sid'] ?? '';
    const found = state.applications.get(sid);
    if (!found) return notFound(context);
    context.body = { sid, sms_url: found.smsUrl, sms_method: found.smsMethod ?? 'POST' };
  });

  const serviceResource = (sid: string, service: TwilioService) => ({
    sid,
    account_sid: accountSid,
    inbound_request_url: service.inboundRequestUrl,
    inbound_method: service.inboundMethod ?? 'POST',
    use_inbound_webhook_on_number: service.useInboundWebhookOnNumber,
    smart_encoding: service.smartEncoding !== false,
    us_app_to_person_registered: service.registered !== false,
  });
  const meta = (key: string) => ({ page: 0, page_size: PAGE_SIZE, next_page_url: null, key });

  messagingRoutes.get('/', (context) => {
    const pageSize = Number(context.query['PageSize'] ?? 50);
    const services = [...state.services]
      .slice(0, pageSize)
      .map(([sid, service]) => serviceResource(sid, service));
    context.body = { services, meta: meta('services') };
  });
  messagingRoutes.get('/:service', (context) => {
    const sid = context.params['service'] ?? '';
    const service = state.services.get(sid);
    if (!service) return notFound(context);
    context.body = serviceResource(sid, service);
  });
  messagingRoutes.get('/:service/PhoneNumbers', (context) => {
    const service = state.services.get(context.params['service'] ?? '');
    if (!service) return notFound(context);
    const numbers = service.numbers.map((number) => ({ sid: sidOf(number), phone_number: number }));
    context.body = { phone_numbers: numbers, meta: meta('phone_numbers') };
  });
  messagingRoutes.post('/:service/PhoneNumbers', (context) => {
    const service = state.services.get(context.params['service'] ?? '');
    if (!service) return notFound(context);
    const { PhoneNumberSid: sid } = z.object({ PhoneNumberSid: z.string() }).parse(context.request.body);
    const [number] = numberOf(sid) ?? [];
    if (number === undefined) return notFound(context);
    if (service.numbers.includes(number))
      return refuse(context, 409, 21710, 'Phone Number is already in the Messaging Service');
    if ([...state.services.values()].some(({ numbers }) => numbers.includes(number)))
      return refuse(context, 409, 21712, 'Phone Number is associated with another Messaging Service');
    service.numbers.push(number);
    context.status = 201;
    context.body = { sid, phone_number: number };
  });
  messagingRoutes.get('/:service/PhoneNumbers/:sid', (context) => {
    const service = state.services.get(context.params['service'] ?? '');
    const number = service?.numbers.find((one) => sidOf(one) === context.params['sid']);
    if (number === undefined) return notFound(context);
    context.body = { sid: sidOf(number), phone_number: number };
  });
  for (const [path, key] of [
    ['ShortCodes', 'short_codes'],
    ['AlphaSenders', 'alpha_senders'],
  ] as const)
    messagingRoutes.get(`/:service/${path}`, (context) => {
      if (!state.services.has(context.params['service'] ?? '')) return notFound(context);
      context.body = { [key]: [], meta: meta(key) };
    });

  return { state, routes, messagingRoutes };
}

const sidOf = (number: string): string => `PN${number.slice(1).padStart(32, '0')}`;

const notFound = (context: Context): void =>
  refuse(context, 404, 20404, `The requested resource ${context.path} was not found`);

/** An error response of Twilio; without a code, one of a server in front of it. */
export function refuse(context: Context, status: number, code: number | null, message: string): void {
  context.status = status;
  context.body =
    code === null
      ? message
      : { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status };
}
