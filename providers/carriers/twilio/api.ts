import { rootCertificates } from 'node:tls';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { exchange, type Exchange } from '../../egress-exchange.ts';
import type { Guard } from '../../egress-guard.ts';
import { caCertificatesOf } from '../ca-certificates.ts';
import type { CarrierMedia } from '../carrier.ts';
import { MAX_OBJECT_BYTES, MAX_PAGE_BYTES, mediaOf, rangeFrom } from '../http-response.ts';
import { createTrustingAgents } from '../trusting-agents.ts';

export interface TwilioCarrierOptions {
  /** The default API URL; a line's settings can override it. */
  baseUrl?: string;
  /** The certificates of the authority of that API, in PEM format; null: a public one. */
  ca?: string | null;
  /** Checks connections to servers from lines' settings. */
  guard?: Guard;
  timeoutMs?: number;
  clock?: () => Date;
}

/** The settings of a line, or of a workspace's fallback account. Default of `from`: the line's number. */
export const TwilioConfig = z.object({
  accountSid: z.string().min(1).meta({ description: 'It begins with AC.' }),
  authToken: z.string().min(1).meta({ secret: true }),
  sharedKeySecret: z
    .string()
    .min(1)
    .optional()
    .meta({ secret: true, description: 'Only if the account signs its webhooks with a SharedKey.' }),
  from: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Where messages leave from another sender than the line.' }),
  messagingServiceSid: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Begins with MG, if the number is in a messaging service.' }),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: "Only for a server other than Twilio's that speaks its API." }),
  caCertificates: caCertificatesOf('server'),
});
export type TwilioConfig = z.infer<typeof TwilioConfig>;

const QUESTION_TIMEOUT_MS = 10_000;

interface TwilioRequest {
  /** Posted; absent: nothing is. */
  form?: URLSearchParams;
  /** Default: GET, or POST for a form. */
  method?: 'GET' | 'POST' | 'DELETE';
}

/** Twilio's APIs, for the account of a line. */
export interface TwilioApi {
  readonly timeoutMs: number;
  now(): Date;
  /** The address of the API. */
  addressOf(config: TwilioConfig): URL;
  /** Calls the API of the account. @param path below the account's. */
  call(config: TwilioConfig, path: string, request?: TwilioRequest): Promise<Exchange>;
  /** Calls the Messaging API. @param path `/v1/…` */
  callMessaging(config: TwilioConfig, path: string, request?: TwilioRequest): Promise<Exchange>;
  /** Posts to the API of the account, with the time limit of a send. */
  send(config: TwilioConfig, path: string, form: URLSearchParams, signal: AbortSignal): Promise<Exchange>;
  openMedia(config: TwilioConfig, address: string, signal: AbortSignal, from?: number): Promise<CarrierMedia>;
  close(): Promise<void>;
}

export function createTwilioApi(options: TwilioCarrierOptions): TwilioApi {
  const { baseUrl: defaultUrl = 'https://api.twilio.com', timeoutMs = 15_000 } = options;
  const connections = { connections: 64, headersTimeout: 0, bodyTimeout: 0 };
  const { guard, ca } = options;
  const operators = new Agent({ ...connections, ...(ca && { connect: { ca: [...rootCertificates, ca] } }) });
  /** For URLs from settings or responses. */
  const guarded = new Agent({ ...connections, ...(guard && { connect: guard.connect }) });
  const trusting = createTrustingAgents(
    (ca) => new Agent({ ...connections, connect: guard ? guard.connectTrusting(ca) : { ca } }),
  );
  const agentOf = ({ baseUrl, caCertificates: pem }: TwilioConfig): Agent =>
    baseUrl === undefined ? operators : pem === undefined ? guarded : trusting.of(pem);
  const addressOf = ({ baseUrl }: TwilioConfig): URL => new URL(baseUrl ?? defaultUrl);

  const exchangeWith = async (
    config: TwilioConfig,
    { origin, pathname }: URL,
    path: string,
    {
      form,
      method = form ? 'POST' : 'GET',
      signal = AbortSignal.timeout(QUESTION_TIMEOUT_MS),
      maxBytes = MAX_PAGE_BYTES,
    }: TwilioRequest & { signal?: AbortSignal; maxBytes?: number },
  ): Promise<Exchange> =>
    exchange(
      agentOf(config),
      {
        origin,
        path: pathname.replace(/\/$/, '') + path,
        method,
        headers: {
          authorization: basicAuth(config),
          ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(form && { body: form.toString() }),
      },
      signal,
      maxBytes,
    );

  const pathOf = ({ accountSid }: TwilioConfig, path: string): string =>
    `/2010-04-01/Accounts/${encodeURIComponent(accountSid)}${path}`;

  return {
    timeoutMs,
    now: options.clock ?? (() => new Date()),
    addressOf,
    call: (config, path, request = {}) =>
      exchangeWith(config, addressOf(config), pathOf(config, path), request),
    callMessaging: (config, path, request = {}) =>
      exchangeWith(config, messagingUrl(addressOf(config)), path, request),
    send: (config, path, form, signal) =>
      exchangeWith(config, addressOf(config), pathOf(config, path), {
        form,
        signal,
        maxBytes: MAX_OBJECT_BYTES,
      }),

    async openMedia(config, address, signal, from = 0) {
      if (new URL(address).origin !== addressOf(config).origin)
        throw new Error("not one of this carrier's addresses");
      const first = await request(address, {
        dispatcher: agentOf(config),
        headers: { authorization: basicAuth(config), ...rangeFrom(from) },
        signal,
      });
      // Redirects lead to signed storage URLs, which must not receive the credentials.
      const location = first.headers['location'];
      const isMoved = first.statusCode >= 300 && first.statusCode < 400 && typeof location === 'string';
      if (isMoved) await first.body.dump();
      const response = isMoved
        ? await request(storeAddress(location, address), {
            dispatcher: guarded,
            signal,
            headers: rangeFrom(from),
          })
        : first;
      return mediaOf(response, from);
    },

    async close() {
      await Promise.all([operators.destroy(), guarded.destroy(), trusting.destroy()]);
    },
  };
}

/** The Messaging API has a host of its own; other servers that speak Twilio's APIs have one for all. */
function messagingUrl(api: URL): URL {
  if (!api.hostname.endsWith('.twilio.com')) return api;
  const url = new URL(api);
  url.hostname = url.hostname.replace(/^api\./, 'messaging.');
  return url;
}

const basicAuth = ({ accountSid, authToken }: TwilioConfig): string =>
  `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;

/** Refuses a redirect from https to http. */
function storeAddress(location: string, from: string): URL {
  const target = new URL(location, from);
  if (target.protocol !== new URL(from).protocol)
    throw new Error('the file was redirected to another protocol');
  return target;
}
